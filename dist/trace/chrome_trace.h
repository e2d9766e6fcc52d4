#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "dist/trace/split_step.h"

/// Timelines for chrome://tracing and ui.perfetto.dev, in the Trace Event Format: one process per rank. Its
/// thread 0 is what the rank was busy with, the others hold operations under way, and an arrow leads from
/// each piece's sending to where its receiver saw it. Times in the file are microseconds.
namespace tessera::dist {

/// A rank's lines, one event each. The same on every rank: an arrow's two ends get one name without having
/// met.
/// @param to_origin_s what to add to this rank's times for those of the timeline
std::string chrome_events(const Recorder& recorder, const Arrivals& arrivals, int rank, double to_origin_s);

/// The file, from all ranks' lines and the names to show for them.
void write_chrome_trace(std::ostream& out, const std::vector<std::string>& rank_events,
                        const std::vector<std::string>& rank_names);

}  // namespace tessera::dist
