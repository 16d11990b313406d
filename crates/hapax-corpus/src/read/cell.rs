//! A value of an Arrow column of any type.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_schema::{DataType, TimeUnit};

/// A value for a field of a document.
#[derive(Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Str(String),
    Bytes(Vec<u8>),
    Whole(i64),
    Number(f64),
    /// Seconds since 1970.
    Seconds(i64),
    /// Lists, structs and other types.
    Other,
}

impl Cell {
    pub(crate) fn of(column: &dyn Array, row: usize) -> Self {
        if column.is_null(row) {
            return Self::Null;
        }
        match column.data_type() {
            DataType::Utf8 => Self::Str(column.as_string::<i32>().value(row).to_owned()),
            DataType::LargeUtf8 => Self::Str(column.as_string::<i64>().value(row).to_owned()),
            DataType::Utf8View => Self::Str(column.as_string_view().value(row).to_owned()),
            DataType::Binary => Self::Bytes(column.as_binary::<i32>().value(row).to_owned()),
            DataType::LargeBinary => Self::Bytes(column.as_binary::<i64>().value(row).to_owned()),
            DataType::BinaryView => Self::Bytes(column.as_binary_view().value(row).to_owned()),
            DataType::Boolean => Self::Whole(column.as_boolean().value(row).into()),
            DataType::Int8 => Self::Whole(column.as_primitive::<Int8Type>().value(row).into()),
            DataType::Int16 => Self::Whole(column.as_primitive::<Int16Type>().value(row).into()),
            DataType::Int32 => Self::Whole(column.as_primitive::<Int32Type>().value(row).into()),
            DataType::Int64 => Self::Whole(column.as_primitive::<Int64Type>().value(row)),
            DataType::UInt8 => Self::Whole(column.as_primitive::<UInt8Type>().value(row).into()),
            DataType::UInt16 => Self::Whole(column.as_primitive::<UInt16Type>().value(row).into()),
            DataType::UInt32 => Self::Whole(column.as_primitive::<UInt32Type>().value(row).into()),
            DataType::UInt64 => {
                let value = column.as_primitive::<UInt64Type>().value(row);
                i64::try_from(value).map_or_else(|_| Self::Str(value.to_string()), Self::Whole)
            }
            DataType::Float16 => {
                Self::Number(column.as_primitive::<Float16Type>().value(row).to_f64())
            }
            DataType::Float32 => {
                Self::Number(column.as_primitive::<Float32Type>().value(row).into())
            }
            DataType::Float64 => Self::Number(column.as_primitive::<Float64Type>().value(row)),
            DataType::Date32 => {
                let days = i64::from(column.as_primitive::<Date32Type>().value(row));
                Self::Seconds(days * 86_400)
            }
            DataType::Date64 => {
                Self::Seconds(column.as_primitive::<Date64Type>().value(row).div_euclid(1000))
            }
            DataType::Timestamp(unit, _) => Self::Seconds(seconds(column, *unit, row)),
            DataType::Dictionary(..) => {
                let dictionary = column.as_any_dictionary();
                match Self::of(dictionary.keys(), row) {
                    Self::Whole(key) => usize::try_from(key)
                        .ok()
                        .filter(|key| *key < dictionary.values().len())
                        .map_or(Self::Other, |key| Self::of(dictionary.values(), key)),
                    _ => Self::Other,
                }
            }
            _ => Self::Other,
        }
    }

    /// Text unchanged, numbers as digits.
    pub(crate) fn into_text(self) -> Option<String> {
        match self {
            Self::Str(text) => Some(text),
            Self::Bytes(bytes) => String::from_utf8(bytes).ok(),
            Self::Whole(number) | Self::Seconds(number) => Some(number.to_string()),
            Self::Number(number) => Some(number.to_string()),
            Self::Null | Self::Other => None,
        }
    }

    pub(crate) fn into_number(self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(number as f64),
            Self::Number(number) => Some(number),
            Self::Str(text) => text.trim().parse().ok(),
            Self::Null | Self::Bytes(_) | Self::Seconds(_) | Self::Other => None,
        }
    }
}

fn seconds(column: &dyn Array, unit: TimeUnit, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => column.as_primitive::<TimestampSecondType>().value(row),
        TimeUnit::Millisecond => {
            column.as_primitive::<TimestampMillisecondType>().value(row).div_euclid(1000)
        }
        TimeUnit::Microsecond => {
            column.as_primitive::<TimestampMicrosecondType>().value(row).div_euclid(1_000_000)
        }
        TimeUnit::Nanosecond => {
            column.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(1_000_000_000)
        }
    }
}
