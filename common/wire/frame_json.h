#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "common/base/types.h"
#include "common/model/json_fields.h"
#include "common/model/model_json.h"
#include "common/wire/frame.h"

// The JSON payloads of control frames, each member named once for both directions. Included by
// frame.cpp only.
namespace logarithm::wire {

template <typename T, typename Message>
concept Is = std::same_as<std::remove_const_t<T>, Message>;

// need(): decoding refuses a frame without the key. may(): a missing key leaves the default.
void fields(auto& v, Is<Hello> auto& m) {
  v.need("protocol", m.protocol);
  v.may("agent", m.agent);
  v.may("host", m.host);
  v.may("version", m.version);
  v.need("block_version", m.block_version);
  v.may("token", m.token);
  v.may("batches", m.batches);
}

void fields(auto& v, Is<StreamOpen> auto& m) {
  v.need("base", m.base);
  v.need("job", m.job);
  v.may("lease", m.lease);
}

void fields(auto& v, Is<StreamInfo> auto& m) {
  v.need("stream", m.stream);
  v.need("attributes", m.attributes);
  v.hex("head", m.head);
  v.may("predecessor", m.predecessor);
}

void fields(auto& v, Is<Processes> auto& m) { v.list("processes", m.processes); }

void fields(auto& v, Is<Closed> auto& m) {
  v.need("stream", m.stream);
  v.need("job", m.job);
  v.need("size", m.size);
  v.may("reason", m.reason);
}

void fields(auto& v, Is<GapReport> auto& m) {
  v.need("stream", m.stream);
  v.need("job", m.job);
  v.need("gap", m.gap);
}

void fields(auto& v, Is<StreamLag> auto& m) {
  v.need("stream", m.stream);
  v.need("job", m.job);
  v.need("size", m.size);
  v.need("offset", m.offset);
}

void fields(auto& v, Is<NotCaptured> auto& m) {
  v.need("what", m.what);
  v.may("reason", m.reason);
  v.may("job", m.job);
}

void fields(auto& v, Is<Heartbeat> auto& m) {
  v.need("sent", m.sent);
  v.list("streams", m.streams);
  v.list("not_captured", m.not_captured);
  v.may("spool_bytes", m.spool_bytes);
  v.may("rule_problems", m.rule_problems);
  v.may("config_problems", m.config_problems);
  v.may("clock_offset", m.clock_offset);
  v.may("clock_error", m.clock_error);
}

void fields(auto& v, Is<Flush> auto& m) { v.need("id", m.id); }

void fields(auto& v, Is<Welcome> auto& m) {
  v.need("protocol", m.protocol);
  v.may("version", m.version);
  v.need("block_version", m.block_version);
  v.need("credit", m.credit);
  v.need("max_block", m.max_block);
  v.may("now", m.now);
  v.may("batches", m.batches);
}

void fields(auto& v, Is<StreamState> auto& m) {
  v.need("base", m.base);
  v.need("job", m.job);
  v.may("leased_elsewhere", m.leased_elsewhere);
  v.list("generations", m.generations);
}

void fields(auto& v, Is<Ack> auto& m) {
  v.need("stream", m.stream);
  v.need("job", m.job);
  v.need("first", m.first);
  v.need("end", m.end);
}

void fields(auto& v, Is<Refuse> auto& m) {
  v.need("stream", m.stream);
  v.need("job", m.job);
  v.need("first", m.first);
  v.need("end", m.end);
  v.need("code", m.code);
  v.may("message", m.message);
  v.may("resume_at", m.resume_at);
  v.may("retry_after_ms", m.retry_after_ms);
  v.ids("templates", m.templates);
}

void fields(auto& v, Is<ClockReply> auto& m) {
  v.need("sent", m.sent);
  v.need("received", m.received);
  v.need("replied", m.replied);
}

void fields(auto& v, Is<Flushed> auto& m) { v.need("id", m.id); }

void fields(auto& v, Is<Goodbye> auto& m) {
  v.may("reason", m.reason);
  v.may("retry_after_ms", m.retry_after_ms);
}

// A message of this header, as opposed to a type of the model.
template <typename T>
concept HasFields = Is<T, StreamLag> || Is<T, NotCaptured>;

class JsonWriter {
 public:
  explicit JsonWriter(nlohmann::json& out) : out_(out) { out_ = nlohmann::json::object(); }

  template <typename T>
  void need(const char* key, const T& value) {
    if constexpr (std::same_as<T, StreamId> || std::same_as<T, StreamBase>) {
      out_[key] = to_text(value);
    } else if constexpr (std::same_as<T, RefuseCode>) {
      out_[key] = static_cast<std::uint8_t>(value);
    } else {
      out_[key] = value;
    }
  }
  template <typename T>
  void may(const char* key, const T& value) {
    need(key, value);
  }
  template <typename T>
  void may(const char* key, const std::optional<T>& value) {
    if (value) out_[key] = *value;
  }
  void hex(const char* key, const std::string& value) { out_[key] = to_hex(value); }
  template <typename T>
  void list(const char* key, const std::vector<T>& items) {
    nlohmann::json& array = out_[key] = nlohmann::json::array();
    for (const T& item : items) {
      nlohmann::json& slot = array.emplace_back();
      if constexpr (HasFields<T>) {
        JsonWriter writer(slot);
        fields(writer, item);
      } else {
        to_json(slot, item);
      }
    }
  }
  void ids(const char* key, const std::vector<TemplateId>& ids) {
    nlohmann::json& array = out_[key] = nlohmann::json::array();
    for (const TemplateId id : ids) {
      std::string big_endian;
      for (int shift = 56; shift >= 0; shift -= 8) {
        big_endian.push_back(static_cast<char>(id >> shift));
      }
      array.push_back(to_hex(big_endian));
    }
  }

 private:
  nlohmann::json& out_;
};

// Throws nlohmann::json::exception; frame.cpp catches it.
class JsonReader {
 public:
  explicit JsonReader(const nlohmann::json& in) : in_(in) {}

  template <typename T>
  void need(const char* key, T& value) {
    json_fields::require(in_, key);
    may(key, value);
  }
  template <typename T>
  void may(const char* key, T& value) {
    if constexpr (std::same_as<T, RefuseCode>) {
      std::uint8_t number = 0;
      json_fields::read(in_, key, number);
      value = static_cast<RefuseCode>(number);  // an unknown code still says retryable or not
    } else if constexpr (std::same_as<T, StreamAttributes> || std::same_as<T, Gap>) {
      from_json(in_.at(key), value);
    } else {
      json_fields::read(in_, key, value);
    }
  }
  void hex(const char* key, std::string& value) { json_fields::read_hex(in_, key, value); }
  template <typename T>
  void list(const char* key, std::vector<T>& items) {
    for (const nlohmann::json& item : json_fields::array_at(in_, key)) {
      if constexpr (HasFields<T>) {
        JsonReader reader(item);
        fields(reader, items.emplace_back());
      } else {
        from_json(item, items.emplace_back());
      }
    }
  }
  void ids(const char* key, std::vector<TemplateId>& ids) {
    std::vector<std::string> texts;
    json_fields::read(in_, key, texts);
    for (const std::string& text : texts) {
      const auto bytes = from_hex(text);
      if (!bytes.ok() || bytes->size() != 8) {
        json_fields::refuse(in_, std::string(key) + ": a template is 16 hexadecimal digits");
      }
      TemplateId id = 0;
      for (const char c : *bytes) id = id << 8 | static_cast<unsigned char>(c);
      ids.push_back(id);
    }
  }

 private:
  const nlohmann::json& in_;
};

}  // namespace logarithm::wire
