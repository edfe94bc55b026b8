// One cell from its name to its verdict: both ends open a queue pair each, tell each other its
// address, play their parts and agree that all went well. Called by both ends.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "cell.h"
#include "common/side_channel.h"
#include "end.h"

namespace uroce::rxe {

/// How both ends keep from waiting for ever.
app::Waiting waiting_with(Opener& opener);

/// Plays this end's part. Returns what Soft-RoCE did otherwise than the specification says, at
/// either end, empty when nothing. An error is a failed cell; the other end has been told.
roce::Result<std::string> play(const Cell& cell, Opener& opener, app::SideChannel& channel,
                               bool is_uroce);

}  // namespace uroce::rxe
