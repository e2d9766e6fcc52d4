#include "nn/parameter.h"

#include <cmath>
#include <set>

#include "tensor/autograd.h"
#include "tensor/random.h"
#include "tensor/threads.h"

namespace tessera::nn {
namespace {

constexpr double kNormalNs = 40;  // what one number costs, measured

/// Elements of the box, row by row of its first dim. std::fma rounds once with or without the processor's own
/// instruction, so neither compiler nor machine changes a weight.
template <class T>
void draw_box(const Tensor& values, const Box& box, const Shape& global, const RandomStream& stream,
              const Recipe& recipe) {
  T* data = values.data<T>();
  const Index rows = box.shape[0], row = rows == 0 ? 0 : box.shape.numel() / rows;
  parallel_rows(rows, row, kNormalNs, [&](Index begin, Index end) {
    for_each_run(box.rows(begin, end), global, [&](Index first, Index inside, Index length) {
      T* run = data + begin * row + inside;
      const auto put = [&](Index i, double normal) {
        if (i >= first && i < first + length)
          run[i - first] = static_cast<T>(std::fma(recipe.std, normal, recipe.mean));
      };
      for (Index pair = first / 2; 2 * pair < first + length; ++pair) {
        const auto [even, odd] = stream.normal_pair(pair);
        put(2 * pair, even);
        put(2 * pair + 1, odd);
      }
    });
  });
}

/// Two parameters of one name would start equal and overwrite each other in files.
void check_unique(const Parameters& parameters) {
  std::set<std::string> names;
  for (const ParameterPtr& p : parameters) {
    check(names.insert(p->name).second, "materialize", "two parameters are named ", p->name);
  }
}

}  // namespace

Parameter::Parameter(std::string parameter_name, const Shape& shape, Recipe start)
    : name(std::move(parameter_name)),
      global_shape(shape),
      recipe(start),
      used(Box::whole(shape)),
      owned(used) {
  check(shape.num_dims() > 0, "Parameter", name, " is ", shape, ", expected one dim or more");
}

Tensor Parameter::owned_rows(const Tensor& of_used) const {
  check(of_used.shape() == used.shape, "owned_rows", "a tensor ", of_used.shape(), " for the used box of ",
        name, ", ", to_string(used));
  const Index first = first_owned_row(), end = first + owned.shape[0];
  check(first >= 0 && end <= used.shape[0] && used.rows(first, end) == owned, "owned_rows", name, " owns ",
        to_string(owned), ", which is not rows of what it uses, ", to_string(used));
  return of_used.slice(first, end);
}

void materialize(const Parameters& parameters, std::uint64_t seed, DType dtype, double std_override) {
  check_unique(parameters);
  for (const ParameterPtr& p : parameters) {
    if (p->owned_apart) {
      p->owned_value = draw(*p, p->owned, seed, dtype, std_override);
      p->value = Tensor(p->used.shape, dtype, Category::parameter).require_grad();
      p->value.storage()->release();
    } else {
      p->value = draw(*p, p->used, seed, dtype, std_override).require_grad();
      p->owned_value = p->owned_rows(p->value);
    }
  }
}

Tensor draw(const Parameter& parameter, const Box& box, std::uint64_t seed, DType dtype,
            double std_override) {
  Tensor values(box.shape, dtype, Category::parameter);
  const Recipe recipe = {parameter.recipe.mean, std_override > 0 ? std_override : parameter.recipe.std};
  if (recipe.std == 0) {
    values.fill(recipe.mean);
    return values;
  }
  const RandomStream stream(seed, parameter.name);
  dispatch(dtype, [&]<class T>() { draw_box<T>(values, box, parameter.global_shape, stream, recipe); });
  return values;
}

void zero_grad(const Parameters& parameters) {
  for (const ParameterPtr& p : parameters) {
    p->value.zero_grad();
    p->owned_grad = Tensor();
  }
}

std::vector<Tensor> values(const Parameters& parameters) {
  std::vector<Tensor> result;
  for (const ParameterPtr& p : parameters) result.push_back(p->value);
  return result;
}

Index count_elements(const Parameters& parameters) {
  Index count = 0;
  for (const ParameterPtr& p : parameters) count += p->used.shape.numel();
  return count;
}

}  // namespace tessera::nn
