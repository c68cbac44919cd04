#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <thread>

#include "core/memory.hpp"
#include "graph/generate/properties.hpp"
#include "support/errors.hpp"
#include "weft/context.hpp"
#include "weft/generate.hpp"

namespace weft {
namespace {

TEST(generate_spec, is_recognised_by_its_kind_and_colon) {
  for (const char* text : {"rmat:scale=3", "powerlaw:", "grid:side=2", "molecules:nodes=9", "uniform:", "star:nodes=3",
                           "like:cora", "like:nowhere"})
    EXPECT_TRUE(is_generator_spec(text)) << text;
  for (const char* text : {"", "rmat", "rmat.weft", "like", ":", ":rmat", "RMAT:scale=3", " rmat:", "file:x", "rmats:"})
    EXPECT_FALSE(is_generator_spec(text)) << text;
}

TEST(generate_spec, description_spells_every_key) {
  EXPECT_EQ(generate("rmat:scale=4").description, "rmat:scale=4,edge_factor=16,a=0.57,b=0.19,c=0.19,seed=1");
  EXPECT_EQ(generate("powerlaw:seed=7,edges=1e3,nodes=200").description,
            "powerlaw:nodes=200,edges=1000,exponent=2.3,max_degree=24,communities=0,inside=0.7,shuffled=1,seed=7");
  EXPECT_EQ(generate("grid:side=3").description, "grid:side=3");
  EXPECT_EQ(generate("molecules:nodes=20").description, "molecules:nodes=20,seed=1");
  EXPECT_EQ(generate("uniform:nodes=20,edges=5").description, "uniform:nodes=20,edges=5,seed=1");
  EXPECT_EQ(generate("star:nodes=20").description, "star:nodes=20");
}

TEST(generate_spec, a_description_makes_the_same_graph_again) {
  for (const char* spec : {"rmat:scale=7,edge_factor=2.5,a=0.45,b=0.15,c=0.25,seed=18446744073709551615",
                           "powerlaw:nodes=300,edges=4000,exponent=1.7,communities=7,inside=0.123456789,shuffled=0",
                           "molecules:nodes=77,seed=0", "uniform:nodes=55,edges=321,seed=12"}) {
    const Generated first = generate(spec), second = generate(first.description);
    EXPECT_EQ(first.description, second.description);
    EXPECT_EQ(test::fingerprint(first.graph), test::fingerprint(second.graph));
  }
}

TEST(generate_spec, means_the_same_as_the_struct) {
  EXPECT_EQ(
      test::fingerprint(generate("rmat:scale=8,edge_factor=3,a=0.5,b=0.2,c=0.1,seed=3").graph),
      test::fingerprint(generate(RmatSpec{.scale = 8, .edge_factor = 3, .a = 0.5, .b = 0.2, .c = 0.1, .seed = 3})));
  EXPECT_EQ(
      test::fingerprint(
          generate("powerlaw:nodes=500,edges=3e3,exponent=2.1,max_degree=60,communities=5,inside=0.9,shuffled=0,seed=3")
              .graph),
      test::fingerprint(generate(PowerlawSpec{.nodes = 500,
                                              .edges = 3'000,
                                              .exponent = 2.1,
                                              .max_degree = 60,
                                              .communities = 5,
                                              .inside = 0.9,
                                              .shuffled = false,
                                              .seed = 3})));
}

TEST(generate_spec, counts_may_be_written_as_1e6) {
  EXPECT_EQ(generate("star:nodes=1e3").graph.num_rows(), 1'000);
  EXPECT_EQ(generate("star:nodes=2.5E3").graph.num_rows(), 2'500);
  test::expect_refused([] { generate("star:nodes=1.5"); }, "nodes");
  test::expect_refused([] { generate("star:nodes=1.5e0"); }, "nodes");
  test::expect_refused([] { generate("star:nodes=1_000"); }, "nodes");
  test::expect_refused([] { generate("star:nodes=1e30"); }, "nodes");
}

TEST(generate_spec, unknown_kinds_are_refused_with_the_list) {
  for (const char* text : {"", "cora", "rmat", "mesh:side=3", "rmat;scale=3", ":", "like"}) {
    test::expect_refused([=] { generate(text); }, "powerlaw");
    test::expect_refused([=] { generate(text); }, "molecules");
  }
}

TEST(generate_spec, malformed_options_are_refused) {
  for (const char* text : {"rmat:scale=4,", "rmat:,scale=4", "rmat:scale=4,,seed=1", "rmat:scale", "rmat: scale=4",
                           "rmat:scale =4", "rmat:Scale=4", "rmat:=4", "rmat:nodes=4", "rmat:,"})
    test::expect_refused([=] { generate(text); }, "scale");
  for (const char* text : {"rmat:scale=", "rmat:scale= 4", "rmat:scale=4 ", "rmat:scale=four", "rmat:scale=0x4",
                           "rmat:scale=4=5", "rmat:scale=4,scale=4", "rmat:scale=99999999999", "rmat:scale=+4"})
    test::expect_refused([=] { generate(text); }, "scale");
}

struct Bad {
  const char* key;
  std::vector<const char*> values;
};

void expect_all_refused(const std::string& prefix, const std::vector<Bad>& all) {
  for (const Bad& bad : all)
    for (const char* value : bad.values) {
      const std::string spec = prefix + bad.key + "=" + value;
      SCOPED_TRACE(spec);
      test::expect_refused([&] { generate(spec); }, bad.key);
    }
}

TEST(generate_spec, every_key_of_rmat_refuses_bad_values) {
  expect_all_refused("rmat:", {{"scale", {"", "0", "-1", "31", "x", "nan", "2.5"}},
                               {"edge_factor", {"", "-1", "nan", "inf", "1e9", "x"}},
                               {"a", {"", "-0.1", "1.1", "nan", "x"}},
                               {"b", {"", "-0.1", "1.1", "nan", "x", "0.5"}},
                               {"c", {"", "-0.1", "1.1", "nan", "x", "0.5"}},
                               {"seed", {"", "-1", "x", "1.5", "18446744073709551616"}}});
}

TEST(generate_spec, every_key_of_powerlaw_refuses_bad_values) {
  expect_all_refused("powerlaw:", {{"nodes", {"", "0", "-5", "2147483648", "x", "nan"}},
                                   {"edges", {"", "-1", "1e11", "x", "nan", "9223372036854775808"}},
                                   {"exponent", {"", "1", "0.5", "-2", "101", "nan", "inf", "x"}},
                                   {"max_degree", {"", "-1", "0.5", "100000", "nan", "inf", "x", "9"}},
                                   {"communities", {"", "-1", "100001", "x", "nan"}},
                                   {"inside", {"", "-0.1", "1.1", "nan", "x"}},
                                   {"shuffled", {"", "2", "-1", "true", "yes", "00"}},
                                   {"seed", {"", "-1", "x"}}});
}

TEST(generate_spec, every_key_of_the_other_kinds_refuses_bad_values) {
  expect_all_refused("grid:", {{"side", {"", "0", "-1", "46341", "x", "nan"}}});
  expect_all_refused("molecules:", {{"nodes", {"", "0", "-1", "2147483648", "x"}}, {"seed", {"", "-1", "x"}}});
  expect_all_refused("uniform:", {{"nodes", {"", "0", "-1", "2147483648", "x"}},
                                  {"edges", {"", "-1", "9999900001", "x"}},
                                  {"seed", {"", "-1", "x"}}});
  expect_all_refused("star:", {{"nodes", {"", "0", "-1", "2147483648", "x"}}, {"edges", {"5"}}});
}

TEST(generate_spec, the_structs_are_checked_too) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  test::expect_refused([] { generate(RmatSpec{.scale = 0}); }, "scale");
  test::expect_refused([=] { generate(RmatSpec{.edge_factor = nan}); }, "edge_factor");
  test::expect_refused([=] { generate(RmatSpec{.a = nan}); }, "a");
  test::expect_refused([=] { generate(PowerlawSpec{.exponent = nan}); }, "exponent");
  test::expect_refused([=] { generate(PowerlawSpec{.max_degree = nan}); }, "max_degree");
  test::expect_refused([=] { generate(PowerlawSpec{.inside = nan}); }, "inside");
  test::expect_refused([] { generate(GridSpec{.side = -1}); }, "side");
  test::expect_refused([] { generate(MoleculesSpec{.nodes = 0}); }, "nodes");
  test::expect_refused([] { generate(UniformSpec{.nodes = 3, .edges = 7}); }, "edges");
  test::expect_refused([] { generate(StarSpec{.nodes = 0}); }, "nodes");
}

TEST(generate_spec, running_out_of_memory_anywhere_is_an_error_and_leaks_nothing) {
  for (const char* spec : {"rmat:scale=6", "powerlaw:nodes=300,edges=2000,communities=4", "grid:side=9",
                           "molecules:nodes=99", "uniform:nodes=60,edges=500", "star:nodes=9", "like:cora"}) {
    SCOPED_TRACE(spec);
    const std::size_t before = memory_stats().live_bytes;
    int refused = 0;
    for (bool done = false; !done && refused < 100;) {
      fail_allocation(refused + 1);
      try {
        generate(spec);
        done = true;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
        ++refused;
      }
      fail_allocation(0);
      EXPECT_EQ(memory_stats().live_bytes, before);
    }
    EXPECT_GE(refused, 2);
    EXPECT_LT(refused, 100);
  }
}

TEST(generate_progress, rises_to_the_end_on_the_callers_thread_and_changes_nothing) {
  for (const char* text : {"rmat:scale=12", "uniform:nodes=2000,edges=60000", "powerlaw:nodes=5000,edges=50000",
                           "grid:side=200", "molecules:nodes=50000", "star:nodes=50000", "like:cora"}) {
    SCOPED_TRACE(text);
    const auto caller = std::this_thread::get_id();
    std::int64_t last = 0, calls = 0, whole = 0;
    const Graph told = generate(text, [&](std::string_view what, std::int64_t done, std::int64_t total) {
                         EXPECT_EQ(what, "generating");
                         EXPECT_EQ(std::this_thread::get_id(), caller);
                         EXPECT_GE(done, last);
                         EXPECT_LE(done, total);
                         last = done;
                         whole = total;
                         ++calls;
                       }).graph;
    EXPECT_GT(whole, 0);
    EXPECT_EQ(last, whole);
    EXPECT_LE(calls, 600);
    const Graph silent = generate(text).graph;
    EXPECT_TRUE(std::ranges::equal(told.offsets(), silent.offsets()));
    EXPECT_TRUE(std::ranges::equal(told.cols(), silent.cols()));
  }
}

}  // namespace
}  // namespace weft
