#pragma once

#include <string>

namespace tessera::dist {

/// Who speaks in the messages below, and in signal handlers.
void set_speaker(int rank, int ranks);

/// "rank 2: text", or just the text if there is one rank.
std::string as_rank(const std::string& text);
/// One message on stderr, in one write, so that those of several ranks do not mix.
void say(const std::string& text);
/// Ends the processes of all ranks, of which none may hang.
[[noreturn]] void abort_job(int status);
/// "rank 2: reason", and status 1 for the job.
[[noreturn]] void fail(const std::string& reason);

/// From here on the first SIGINT or SIGTERM sets a flag, the second ends the process, and an exception where
/// none can be handled, in a destructor or in a thread of the body's own, fails the job.
void install_handlers();

}  // namespace tessera::dist
