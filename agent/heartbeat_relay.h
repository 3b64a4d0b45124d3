#pragma once

#include "agent/uplink/uplink.h"

namespace logarithm::agent {

// The uplink is made before the collector (which needs it through follow) and asks it through this.
class HeartbeatRelay final : public HeartbeatSource {
 public:
  void set(HeartbeatSource* source) { source_ = source; }
  wire::Heartbeat heartbeat(BlockingToken& token) override {
    return source_ != nullptr ? source_->heartbeat(token) : wire::Heartbeat();
  }

 private:
  HeartbeatSource* source_ = nullptr;
};

}  // namespace logarithm::agent
