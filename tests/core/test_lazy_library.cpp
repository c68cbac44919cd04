#include "core/lazy_library.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/errors.hpp"

namespace weft {
namespace {

TEST(lazy_library, gives_functions_of_a_library_that_is_there) {
  const LazyLibrary library("the C library", "libc.so.6", "");
  int (*const to_lower)(int) = library.find("tolower");
  EXPECT_EQ(to_lower('A'), 'a');
}

TEST(lazy_library, that_is_not_there_is_named_with_what_to_do) {
  const std::string message = test::refusal_of([] { LazyLibrary("cuWonder", "libcuwonder.so.7", "/no/such/folder"); });
  EXPECT_NE(message.find("cuWonder could not be loaded"), message.npos) << message;
  EXPECT_NE(message.find("name the folder of libcuwonder.so.7 in LD_LIBRARY_PATH"), message.npos) << message;
}

TEST(lazy_library, without_a_function_names_it) {
  const LazyLibrary library("the C library", "libc.so.6", "");
  const std::string message = test::refusal_of([&] { library.find("no_function_of_this_name"); });
  EXPECT_NE(message.find("(libc.so.6) has no function no_function_of_this_name"), message.npos) << message;
}

}  // namespace
}  // namespace weft
