#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/check.hpp"
#include "graph/io/format.hpp"
#include "graph/io/zip_archive.hpp"

namespace weft::io {

ZipMember::ZipMember(ZipMember&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)), name_(std::move(other.name_)), size_(other.size_) {}

ZipMember::~ZipMember() {
  if (file_ != nullptr) ::zip_fclose(file_);
}

void ZipMember::read(std::span<std::byte> out) {
  while (!out.empty()) {
    const zip_int64_t count = ::zip_fread(file_, out.data(), out.size());
    WEFT_CHECK(count >= 0, invalid_file, "member {}: {}", in_quotes(name_), ::zip_file_strerror(file_));
    WEFT_CHECK(count > 0, invalid_file, "member {} ends {} bytes too early", in_quotes(name_), out.size());
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

void ZipMember::finish() {
  std::byte more;
  const zip_int64_t count = ::zip_fread(file_, &more, 1);  // reaching the end is what checks the CRC
  WEFT_CHECK(count >= 0, invalid_file, "member {}: {}", in_quotes(name_), ::zip_file_strerror(file_));
  WEFT_CHECK(count == 0, invalid_file, "member {} is longer than its header says", in_quotes(name_));
}

namespace {

/// Takes over a stream of its own: libzip closes it with the source.
zip_source_t* source_of_file(const File& file, zip_error_t* error) {
  const int own = ::dup(file.descriptor());
  std::FILE* const stream = own >= 0 ? ::fdopen(own, "rb") : nullptr;
  if (stream == nullptr) {
    if (own >= 0) ::close(own);
    fail(ErrorCode::io, "cannot open the archive a second time: too many files are open");
  }
  zip_source_t* const source = ::zip_source_filep_create(stream, 0, static_cast<zip_int64_t>(file.size()), error);
  if (source == nullptr) std::fclose(stream);
  return source;
}

void check_names_differ(std::vector<std::string> names) {
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end())
    fail(ErrorCode::invalid_file, "the archive has two members {}: expected each name once", in_quotes(*twice));
}

}  // namespace

ZipReader::ZipReader(const Source& from) : archive_bytes_(static_cast<std::int64_t>(from.size())) {
  zip_error_t error;
  ::zip_error_init(&error);
  // An empty file is an archive without members, but only in memory does libzip see it so.
  zip_source_t* source = from.file && from.size() > 0
                             ? source_of_file(*from.file, &error)
                             : ::zip_source_buffer_create(from.bytes.data(), from.bytes.size(), 0, &error);
  if (source != nullptr) archive_ = ::zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive_ == nullptr) {
    const std::string message = ::zip_error_strerror(&error);
    if (source != nullptr) ::zip_source_free(source);
    ::zip_error_fini(&error);
    fail(ErrorCode::invalid_file, "not a whole zip archive: {}", message);
  }
  ::zip_error_fini(&error);
  try {
    check_names_differ(names());
  } catch (...) {
    ::zip_discard(archive_);
    throw;
  }
}

ZipReader::~ZipReader() { ::zip_discard(archive_); }

std::vector<std::string> ZipReader::names() const {
  std::vector<std::string> list;
  const zip_int64_t count = ::zip_get_num_entries(archive_, 0);
  for (zip_int64_t i = 0; i < count; ++i)
    if (const char* name = ::zip_get_name(archive_, static_cast<zip_uint64_t>(i), 0); name != nullptr)
      list.emplace_back(name);
  return list;
}

bool ZipReader::has(const std::string& name) const { return ::zip_name_locate(archive_, name.c_str(), 0) >= 0; }

ZipMember ZipReader::open(const std::string& name) const {
  zip_stat_t status;
  ::zip_stat_init(&status);
  constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  WEFT_CHECK(::zip_stat(archive_, name.c_str(), 0, &status) == 0 && (status.valid & needed) == needed, invalid_file,
             "member {}: {}", in_quotes(name), ::zip_strerror(archive_));
  // Deflate cannot pack more than 1032 bytes into one; a size beyond that is a lie.
  constexpr zip_uint64_t most_growth = 1032;
  const auto whole = static_cast<zip_uint64_t>(archive_bytes_);
  const zip_uint64_t most = status.comp_method == ZIP_CM_STORE ? status.comp_size : status.comp_size * most_growth + 64;
  WEFT_CHECK(status.comp_method == ZIP_CM_STORE || status.comp_method == ZIP_CM_DEFLATE, invalid_file,
             "member {} is packed by method {}: expected stored or deflated", in_quotes(name), status.comp_method);
  WEFT_CHECK(status.comp_size <= whole && status.size <= most, invalid_file,
             "member {} declares {} bytes, packed into {}, in an archive of {}: impossible", in_quotes(name),
             status.size, status.comp_size, whole);
  zip_file* file = ::zip_fopen(archive_, name.c_str(), 0);
  WEFT_CHECK(file != nullptr, invalid_file, "member {}: {}", in_quotes(name), ::zip_strerror(archive_));
  return ZipMember(file, name, static_cast<std::int64_t>(status.size));
}

}  // namespace weft::io
