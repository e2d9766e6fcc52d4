#include "examples/network_file.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tensor/check.h"

namespace tessera {
namespace {

using nlohmann::json;

double price(const std::string& path, const json& prices, const char* name) {
  const auto found = prices.find(name);
  const bool number = found != prices.end() && found->is_number();
  check(number, "--network", path, ": \"", name, "\" is ",
        number || found == prices.end() ? "missing" : found->dump(), ", expected a number");
  const double value = found->get<double>();
  check(std::isfinite(value) && value > 0, "--network", path, ": \"", name, "\" is ", value,
        ", expected more than 0");
  return value;
}

plan::LinkPrice read_link(const std::string& path, const json& prices) {
  check(prices.is_object(), "--network", path, ": a link is ", prices.dump(), ", expected an object");
  return {.alpha_s = price(path, prices, "alpha_s"),
          .beta_s_per_byte = price(path, prices, "beta_s_per_byte"),
          .per_message_s = price(path, prices, "per_message_s")};
}

json link_json(const plan::LinkPrice& link) {
  return {{"alpha_s", link.alpha_s},
          {"beta_s_per_byte", link.beta_s_per_byte},
          {"per_message_s", link.per_message_s}};
}

}  // namespace

json network_json(const plan::Network& network) {
  return {{"node", link_json(network.node)},
          {"across", link_json(network.across)},
          {"add_s_per_byte", network.add_s_per_byte}};
}

plan::Network read_network(const std::string& path) {
  std::ifstream file(path);
  check(file.good(), "--network", path, " cannot be read");
  const json text = json::parse(file, nullptr, false);
  check(text.is_object() && text.contains("network") && text["network"].is_object(), "--network", path,
        " is not what bench collectives --json writes");
  const json& prices = text["network"];
  check(prices.contains("node") && prices.contains("across"), "--network", path,
        ": \"node\" or \"across\" is missing");
  return {.node = read_link(path, prices["node"]),
          .across = read_link(path, prices["across"]),
          .add_s_per_byte = price(path, prices, "add_s_per_byte")};
}

}  // namespace tessera
