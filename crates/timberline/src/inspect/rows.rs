//! The first rows of a section.

use super::object::{Part, slice};
use arrow_array::Array;
use timberline_dataobj::{ColumnMeta, Error, Physical, Scratch, Value, decode_binary, decode_int64};

/// Rows of a section: for each row one value for each column, `None` for null.
pub(super) type Rows = Vec<Vec<Option<Value>>>;

/// Decodes up to `most` rows.
pub(super) fn first(bytes: &[u8], part: &Part, most: u64) -> Result<Rows, Error> {
    let Some(meta) = &part.meta else { return Ok(Rows::new()) };
    let wanted = meta.rows.min(most);
    let mut columns = Vec::new();
    for column in &meta.columns {
        columns.push(first_values(bytes, column, wanted)?);
    }
    let value = |column: &Vec<Option<Value>>, row: u64| column.get(row as usize).cloned().flatten();
    Ok((0..wanted)
        .map(|row| columns.iter().map(|column| value(column, row)).collect())
        .collect())
}

fn first_values(bytes: &[u8], column: &ColumnMeta, wanted: u64) -> Result<Vec<Option<Value>>, Error> {
    let mut values = Vec::new();
    let mut scratch = Scratch::new();
    for page in &column.pages {
        if values.len() as u64 >= wanted {
            break;
        }
        let stored = slice(bytes, &page.range, column.section)?;
        match column.physical {
            Physical::Int64 => {
                let page = decode_int64(column, page, stored, &mut scratch)?;
                values.extend(page.iter().map(|value| value.map(Value::Int64)));
            }
            Physical::Binary => {
                let page = decode_binary(column, page, stored, &mut scratch)?;
                let value = |row| page.is_valid(row).then(|| Value::Binary(page.value(row).to_vec()));
                values.extend((0..page.len()).map(value));
            }
            // The format names other types but has no codec for them.
            _ => break,
        }
    }
    Ok(values)
}
