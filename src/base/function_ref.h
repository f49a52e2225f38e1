// FunctionRef: a reference to something callable, for parameters that are called before the function returns. Two
// words, no allocation.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace tutti {

template <class Signature>
class FunctionRef;

// Does not own what it refers to: never store one beyond the call it was passed to.
template <class Return, class... Args>
class FunctionRef<Return(Args...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             std::is_invocable_r_v<Return, Callable&, Args...>)
  FunctionRef(Callable&& callable)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> Return {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(std::forward<Args>(args)...);
        }) {}

  Return operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  Return (*call_)(void*, Args...);
};

}  // namespace tutti
