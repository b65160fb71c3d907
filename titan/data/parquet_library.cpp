#include "titan/data/parquet_library.h"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <memory>
#include <numeric>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <utility>

#include "titan/base/error.h"
#include "titan/base/json.h"

namespace titan::data {
namespace {

constexpr int64_t kRowsAtOnce = 256;

Json value_at(const arrow::Array& array, int64_t row);

template <class ListArray>
Json list_at(const arrow::Array& array, int64_t row) {
  const auto& lists = static_cast<const ListArray&>(array);
  Json list = Json::array();
  for (int64_t i = 0; i < lists.value_length(row); ++i) {
    list.push_back(value_at(*lists.values(), lists.value_offset(row) + i));
  }
  return list;
}

// Members that are null are left out: a column of structs has every member in every row.
Json struct_at(const arrow::Array& array, int64_t row) {
  const auto& structs = static_cast<const arrow::StructArray&>(array);
  Json object = Json::object();
  for (int i = 0; i < structs.num_fields(); ++i) {
    const std::shared_ptr<arrow::Array> member = structs.field(i);
    if (!member->IsNull(row)) {
      object[structs.struct_type()->field(i)->name()] = value_at(*member, row);
    }
  }
  return object;
}

template <class Array>
Json plain_at(const arrow::Array& array, int64_t row) {
  return static_cast<const Array&>(array).Value(row);
}

template <class Array>
Json string_at(const arrow::Array& array, int64_t row) {
  return std::string(static_cast<const Array&>(array).GetView(row));
}

Json value_at(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) {
    return nullptr;
  }
  switch (array.type_id()) {
    case arrow::Type::STRING:
      return string_at<arrow::StringArray>(array, row);
    case arrow::Type::LARGE_STRING:
      return string_at<arrow::LargeStringArray>(array, row);
    case arrow::Type::BOOL:
      return plain_at<arrow::BooleanArray>(array, row);
    case arrow::Type::INT32:
      return plain_at<arrow::Int32Array>(array, row);
    case arrow::Type::INT64:
      return plain_at<arrow::Int64Array>(array, row);
    case arrow::Type::FLOAT:
      return plain_at<arrow::FloatArray>(array, row);
    case arrow::Type::DOUBLE:
      return plain_at<arrow::DoubleArray>(array, row);
    case arrow::Type::LIST:
      return list_at<arrow::ListArray>(array, row);
    case arrow::Type::LARGE_LIST:
      return list_at<arrow::LargeListArray>(array, row);
    case arrow::Type::STRUCT:
      return struct_at(array, row);
    default:
      fail<FormatError>(
          "a value of type {} has no form in JSON", array.type()->ToString());
  }
}

class ParquetReader : public RecordReader {
 public:
  ParquetReader(const std::string& path, const std::vector<std::string>& columns)
      : path_(path) {
    guarded([&] {
      auto input = arrow::io::MemoryMappedFile::Open(path, arrow::io::FileMode::READ);
      check(input.status());
      auto file = parquet::ParquetFileReader::Open(*input);
      const std::vector<int> leaves = leaves_of(*file->metadata()->schema(), columns);
      parquet::ArrowReaderProperties properties(false);
      properties.set_batch_size(kRowsAtOnce);
      properties.set_pre_buffer(false);
      auto reader = parquet::arrow::FileReader::Make(
          arrow::default_memory_pool(), std::move(file), properties);
      check(reader.status());
      file_ = std::move(*reader);
      std::vector<int> groups(static_cast<size_t>(file_->num_row_groups()));
      std::iota(groups.begin(), groups.end(), 0);
      auto batches = file_->GetRecordBatchReader(groups, leaves);
      check(batches.status());
      batches_ = std::move(*batches);
    });
  }

  bool next(std::string& record) override {
    return guarded([&] {
      while (batch_ == nullptr || row_ == batch_->num_rows()) {
        check(batches_->ReadNext(&batch_));
        row_ = 0;
        if (batch_ == nullptr) {
          return false;
        }
      }
      Json object = Json::object();
      for (int i = 0; i < batch_->num_columns(); ++i) {
        object[batch_->column_name(i)] = value_at(*batch_->column(i), row_);
      }
      ++row_;
      ++number_;
      record = object.dump(-1, ' ', false, Json::error_handler_t::replace);
      return true;
    });
  }

  [[nodiscard]] int64_t number() const override { return number_; }

 private:
  // The columns of the file's tree that belong to one of the names.
  static std::vector<int> leaves_of(
      const parquet::SchemaDescriptor& schema, const std::vector<std::string>& names) {
    std::vector<int> leaves;
    for (int i = 0; i < schema.num_columns(); ++i) {
      const std::string name = schema.Column(i)->path()->ToDotVector().front();
      if (std::ranges::find(names, name) != names.end()) {
        leaves.push_back(i);
      }
    }
    return leaves;
  }

  static void check(const arrow::Status& status) {
    if (!status.ok()) {
      fail<FormatError>("{}", status.message());
    }
  }

  // Puts the file and the row before what goes wrong inside.
  template <class Call>
  auto guarded(Call call) -> decltype(call()) {
    try {
      return call();
    } catch (const std::exception& error) {
      fail<FormatError>("{}:{}: {}", path_, number_ + 1, error.what());
    }
  }

  std::string path_;
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t row_ = 0;
  int64_t number_ = 0;
};

}  // namespace
}  // namespace titan::data

extern "C" titan::data::RecordReader* titan_open_parquet(
    const std::string& path, const std::vector<std::string>& columns) {
  return new titan::data::ParquetReader(path, columns);
}
