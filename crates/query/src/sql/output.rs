//! Writes rows as JSON lines or CSV.

use super::{SqlAnswer, SqlForm};
use crate::QueryError;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use datafusion::arrow::csv;
use datafusion::arrow::json::writer::{LineDelimited, NullableEncoder};
use datafusion::arrow::json::{Encoder, EncoderFactory, EncoderOptions, WriterBuilder};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use jiff::Timestamp;
use std::io::Write;
use std::sync::Arc;
use timberline_logql::labels::LabelSet;

/// Writes the batches of an answer one after the other.
pub(super) struct BodyWriter {
    form: SqlForm,
    schema: SchemaRef,
    body: Vec<u8>,
    rows: usize,
}

impl BodyWriter {
    /// A writer of rows with these columns.
    pub(super) fn new(form: SqlForm, schema: &SchemaRef) -> Result<Self, QueryError> {
        let mut writer = Self {
            form,
            schema: schema.clone(),
            body: Vec::new(),
            rows: 0,
        };
        if form == SqlForm::Csv {
            // The names of the columns, whether or not there are rows.
            writer.write_csv(&RecordBatch::new_empty(schema.clone()), true)?;
        }
        Ok(writer)
    }

    /// Adds rows.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), QueryError> {
        self.rows += batch.num_rows();
        match self.form {
            SqlForm::JsonLines => self.write_json(batch),
            SqlForm::Csv => self.write_csv(batch, false),
        }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.body.capacity()
    }

    /// The answer.
    pub(super) fn finish(self) -> SqlAnswer {
        SqlAnswer {
            body: self.body,
            rows: self.rows,
        }
    }

    fn write_json(&mut self, batch: &RecordBatch) -> Result<(), QueryError> {
        let mut writer = WriterBuilder::new()
            .with_explicit_nulls(true)
            .with_encoder_factory(Arc::new(Encoders))
            .build::<_, LineDelimited>(&mut self.body);
        writer.write(batch).and_then(|()| writer.finish()).map_err(unwritable)
    }

    fn write_csv(&mut self, batch: &RecordBatch, header: bool) -> Result<(), QueryError> {
        let columns = batch
            .columns()
            .iter()
            .map(as_text)
            .collect::<Result<Vec<_>, _>>()
            .map_err(unwritable)?;
        let fields = self.schema.fields().iter().zip(&columns);
        let fields = fields.map(|(field, column)| Field::new(field.name(), column.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        let mut writer = csv::WriterBuilder::new().with_header(header).build(&mut self.body);
        writer.write(&batch).map_err(unwritable)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unwritable(error: ArrowError) -> QueryError {
    QueryError::BadRequest(format!("SQL error: the answer can't be written: {error}"))
}

/// A column for CSV: times, labels and whatever else has no plain form as text.
fn as_text(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let text = |row: usize| match column.data_type() {
        _ if column.is_null(row) => Ok(None),
        DataType::Timestamp(unit, _) => Ok(Some(time_text(times(column, *unit)?.value(row), *unit))),
        DataType::Map(..) => Ok(Some(map_text(column, row)?)),
        _ => ArrayFormatter::try_new(column, &FormatOptions::default())?
            .value(row)
            .try_to_string()
            .map(Some),
    };
    match column.data_type() {
        DataType::Timestamp(..) | DataType::Map(..) => {}
        kind if kind.is_nested() => {}
        _ => return Ok(column.clone()),
    }
    let texts: Vec<Option<String>> = (0..column.len()).map(text).collect::<Result<_, _>>()?;
    Ok(Arc::new(StringArray::from(texts)))
}

/// Times of any unit as numbers.
fn times(column: &dyn Array, unit: TimeUnit) -> Result<Int64Array, ArrowError> {
    let numbers = match unit {
        TimeUnit::Second => column
            .as_primitive_opt::<TimestampSecondType>()
            .map(|c| c.reinterpret_cast()),
        TimeUnit::Millisecond => column
            .as_primitive_opt::<TimestampMillisecondType>()
            .map(|c| c.reinterpret_cast()),
        TimeUnit::Microsecond => column
            .as_primitive_opt::<TimestampMicrosecondType>()
            .map(|c| c.reinterpret_cast()),
        TimeUnit::Nanosecond => column
            .as_primitive_opt::<TimestampNanosecondType>()
            .map(|c| c.reinterpret_cast()),
    };
    numbers.ok_or_else(|| ArrowError::CastError("bug: a column of times has another type".into()))
}

/// A time in UTC; the number itself where it lies beyond the year 9999, as numbers that are no milliseconds do.
fn time_text(value: i64, unit: TimeUnit) -> String {
    let ns_per_unit = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    match Timestamp::from_nanosecond(i128::from(value) * ns_per_unit) {
        Ok(time) => time.to_string(),
        Err(_) => value.to_string(),
    }
}

/// `{app="web"}` for a map of texts.
fn map_text(column: &dyn Array, row: usize) -> Result<String, ArrowError> {
    let entries = column.as_map().value(row);
    let text = |index: usize| -> Result<Vec<String>, ArrowError> {
        let formatter = ArrayFormatter::try_new(entries.column(index), &FormatOptions::default())?;
        (0..entries.len())
            .map(|at| formatter.value(at).try_to_string())
            .collect()
    };
    let (names, values) = (text(0)?, text(1)?);
    let pairs = names.iter().map(String::as_str).zip(values.iter().map(String::as_str));
    Ok(LabelSet::from_pairs(pairs).to_string())
}

/// JSON for what the library writes otherwise than we want: times in UTC, and the numbers that JSON has not.
#[derive(Debug)]
struct Encoders;

impl EncoderFactory for Encoders {
    fn make_default_encoder<'a>(
        &self,
        _: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder> = match array.data_type() {
            DataType::Timestamp(unit, _) => Box::new(Times(times(array, *unit)?, *unit)),
            DataType::Float64 => {
                let values = array.as_primitive::<Float64Type>();
                Box::new(Numbers(move |row| values.value(row)))
            }
            DataType::Float32 => {
                let values = array.as_primitive::<Float32Type>();
                Box::new(Numbers(move |row| values.value(row)))
            }
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

struct Times(Int64Array, TimeUnit);

impl Encoder for Times {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let text = time_text(self.0.value(row), self.1);
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') && !text.contains('T');
        let quote: &[u8] = if is_number { b"" } else { b"\"" };
        out.extend_from_slice(quote);
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(quote);
    }
}

/// Floating numbers; NaN and the infinities as texts.
struct Numbers<F>(F);

impl<N: Into<f64> + std::fmt::Display + Copy, F: Fn(usize) -> N> Encoder for Numbers<F> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let number = (self.0)(row);
        let wide: f64 = number.into();
        let text: &[u8] = if wide.is_nan() {
            b"\"NaN\""
        } else if wide == f64::INFINITY {
            b"\"Infinity\""
        } else if wide == f64::NEG_INFINITY {
            b"\"-Infinity\""
        } else {
            // Writing to a vector can't fail.
            let plain = wide == 0.0 || (1e-5..1e17).contains(&wide.abs());
            let _ = if plain {
                write!(out, "{number}")
            } else {
                write!(out, "{wide:e}")
            };
            return;
        };
        out.extend_from_slice(text);
    }
}
