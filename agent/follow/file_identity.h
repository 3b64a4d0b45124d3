#pragma once

#include <string>
#include <string_view>

#include "agent/follow/source_fs.h"
#include "common/base/types.h"

namespace logarithm::agent {

// The base of a live file: (tenant, host, file system, inode, birth time or 0). On a network file
// system the file system replaces the host, so that all hosts give the same name.
StreamBase live_base(std::string_view tenant, std::string_view host, const FileSystemId& system,
                     const FileFacts& facts);

// The base of a file that is read once (--files, import): (tenant, job, relative path, first line,
// at most 1 KiB of it), so that doing it again gives the same name.
StreamBase import_base(std::string_view tenant, std::string_view job, std::string_view relative,
                       std::string_view head);

// The same inode, as far as the kernel can tell without a look at the content.
bool same_file(const FileFacts& a, const FileFacts& b);

// True when `name` is `original` plus a rotation suffix: "app.log.1", "app.log-20260304",
// "app.log.old", and with the extension kept last "app.1.log", "app-20260304.log".
bool is_rotation_of(std::string_view name, std::string_view original);

// The same for whole paths: in one directory, and a rotation by name.
bool is_rotation_path(std::string_view path, std::string_view original);

std::string directory_of(std::string_view path);
std::string name_of(std::string_view path);

}  // namespace logarithm::agent
