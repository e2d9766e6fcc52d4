#include "tests/examples/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

extern char** environ;

namespace tessera {
namespace {

/// A file without a name for what comes on stderr: unlike a second pipe, it never has to be drained.
int nameless_file() {
  std::string name = std::filesystem::temp_directory_path() / "tessera-stderr-XXXXXX";
  const int file = mkstemp(name.data());
  unlink(name.c_str());
  return file;
}

/// Appends what is there; waits for a pipe. @return false at the end
bool read_more(int from, std::string& into) {
  std::array<char, 4096> buffer{};
  const ssize_t count = read(from, buffer.data(), buffer.size());
  if (count > 0) into.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

/// mpirun with its flags.
std::vector<std::string> launcher_of(int ranks) {
  std::istringstream words(TESSERA_MPIRUN);
  std::vector<std::string> launcher{std::istream_iterator<std::string>(words), {}};
  launcher.insert(launcher.end(), {"-n", std::to_string(ranks)});
  return launcher;
}

}  // namespace

Child::Child(const std::string& program, std::vector<std::string> arguments, int ranks)
    : err_(nameless_file()) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  out_ = pipe_ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err_, STDERR_FILENO);

  arguments.insert(arguments.begin(), TESSERA_PROGRAM_DIR "/" + program);
  if (ranks > 0) {
    const std::vector<std::string> launcher = launcher_of(ranks);
    arguments.insert(arguments.begin(), launcher.begin(), launcher.end());
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int error = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  if (error != 0) throw std::runtime_error("cannot start " + arguments[0]);
}

Child::~Child() {
  if (pid_ > 0) {
    send(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(out_);
  close(err_);
}

bool Child::wait_for(const std::string& text) {
  while (read_.find(text) == std::string::npos) {
    if (!read_more(out_, read_)) return false;
  }
  return true;
}

void Child::send(int signal) const { kill(pid_, signal); }

Outcome Child::finish() {
  Outcome outcome = {.out = std::move(read_)};
  while (read_more(out_, outcome.out)) continue;
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  lseek(err_, 0, SEEK_SET);
  while (read_more(err_, outcome.err)) continue;
  return outcome;
}

Folder::Folder() : path_(std::filesystem::temp_directory_path() / "tessera-test-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::string Folder::file(const std::string& name, const std::string& contents) const {
  std::ofstream(path(name), std::ios::binary) << contents;
  return path(name);
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

nlohmann::json read_json(const std::string& path) { return nlohmann::json::parse(read_text(path)); }

}  // namespace tessera
