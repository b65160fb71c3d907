#include "titan/data/record_check.h"

#include "titan/base/error.h"
#include "titan/data/document.h"

namespace titan::data {

bool RecordCheck::accepts(std::string_view json, const std::string& where) {
  try {
    (void)read_record(json, source_, where);
    return true;
  } catch (const FormatError& error) {
    if (bad_ == BadRecords::kRefuse) {
      throw;
    }
    if (num_bad_++ == 0) {
      first_problem_ = error.what();
    }
    return false;
  }
}

}  // namespace titan::data
