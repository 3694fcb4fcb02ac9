//! Names that are put together from parts.

use std::cell::RefCell;

use travertine_value::Name;

thread_local! {
    /// Where a name is put together, so that nothing but the name itself takes memory.
    static DRAFT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A name that is written piece by piece. Nothing that is written may be a name like this itself.
pub(crate) fn name(write: impl FnOnce(&mut String)) -> Name {
    DRAFT.with_borrow_mut(|draft| {
        draft.clear();
        write(draft);
        Name::from(&**draft)
    })
}

/// Adds a number. Every operation has one in its key, so this goes without the formatter.
pub(crate) fn push_number(text: &mut String, number: u32) {
    if number > 9 {
        push_number(text, number / 10);
    }
    text.push(char::from_digit(number % 10, 10).expect("a rest of ten is a digit"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_they_are_formatted() {
        for number in [0, 1, 9, 10, 99, 100, 1_234_567_890, u32::MAX] {
            assert_eq!(*name(|text| push_number(text, number)), *number.to_string());
        }
    }
}
