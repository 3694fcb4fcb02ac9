//! Types of all shapes, there and back, and held against their JSON.

use std::{collections::BTreeMap, fmt::Debug};

use proptest::{collection, option, prelude::*};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{TypeError, from_assignments, from_value, to_assignments, to_value};
use crate::{
    number::Number,
    value::{Name, Value},
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rich {
    small: (i8, u8, i16, u16, i32, u32),
    signed: i64,
    unsigned: u64,
    large: (i128, u128),
    single: f32,
    double: f64,
    flag: bool,
    letter: char,
    text: String,
    nothing: (),
    unit: Unit,
    maybe: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<Box<Self>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shapes: Vec<Shape>,
    array: [u8; 3],
    wrapped: Wrapped,
    pair: Pair,
    tagged: Tagged,
    beside: Beside,
    loose: Vec<Loose>,
    by_number: BTreeMap<i64, String>,
    by_flag: BTreeMap<bool, Shape>,
    by_color: BTreeMap<Color, u8>,
    by_wrapped: BTreeMap<Wrapped, bool>,
    #[serde(flatten)]
    more: More,
    #[serde(flatten)]
    rest: BTreeMap<String, i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Wrapped(u64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pair(String, f64);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Green,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Point,
    Circle(f64),
    Segment(i32, i32),
    Polygon { corners: Vec<(i32, i32)>, color: Option<Color> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
enum Tagged {
    Empty,
    Full { count: u32, of: Vec<String> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "t", content = "c")]
enum Beside {
    Nothing,
    Number(i64),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Loose {
    Flag(bool),
    Natural(u64),
    Whole(i64),
    Double(f64),
    Text(String),
    Many(Vec<Self>),
    Fields { loose: Box<Self> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct More {
    extra: bool,
    color: Color,
}

fn finite() -> impl Strategy<Value = f64> {
    use prop::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    prop_oneof![
        (POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO).prop_map(|it| it + 0.0),
        (any::<i32>(), 0..6).prop_map(|(it, places)| f64::from(it) / 10_f64.powi(places)),
    ]
}

fn single() -> impl Strategy<Value = f32> {
    any::<f32>().prop_filter("finite", |it| it.is_finite()).prop_map(|it| it + 0.0)
}

fn color() -> impl Strategy<Value = Color> {
    prop_oneof![Just(Color::Red), Just(Color::Green)]
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Point),
        finite().prop_map(Shape::Circle),
        any::<(i32, i32)>().prop_map(|(a, b)| Shape::Segment(a, b)),
        (collection::vec(any::<(i32, i32)>(), 0..4), option::of(color()))
            .prop_map(|(corners, color)| Shape::Polygon { corners, color }),
    ]
}

/// No variant that an earlier one would be read as.
fn loose() -> impl Strategy<Value = Loose> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Loose::Flag),
        any::<u64>().prop_map(Loose::Natural),
        (i64::MIN..0).prop_map(Loose::Whole),
        any::<i32>().prop_map(|it| Loose::Double(f64::from(it) + 0.5)),
        any::<String>().prop_map(Loose::Text),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..4).prop_map(Loose::Many),
            inner.prop_map(|it| Loose::Fields { loose: Box::new(it) }),
        ]
    })
}

fn tagged() -> impl Strategy<Value = Tagged> {
    prop_oneof![
        Just(Tagged::Empty),
        (any::<u32>(), any::<Vec<String>>()).prop_map(|(count, of)| Tagged::Full { count, of }),
    ]
}

/// Whole numbers of up to 34 digits, and a few longer ones that end in zeros.
fn large() -> impl Strategy<Value = (i128, u128)> {
    const MAX: i128 = 10_i128.pow(34) - 1;
    (-MAX..=MAX, 0..=MAX, 0..5_u32).prop_map(|(a, b, zeros)| {
        let ten = 10_i128.pow(zeros);
        (a.checked_mul(ten).unwrap_or(a), b.checked_mul(ten).unwrap_or(b).unsigned_abs())
    })
}

fn rich() -> impl Strategy<Value = Rich> {
    let numbers = (
        any::<(i8, u8, i16, u16, i32, u32)>(),
        any::<i64>(),
        any::<u64>(),
        large(),
        single(),
        finite(),
    );
    let plain = any::<(bool, char, String, Option<i64>)>();
    let lists = (collection::vec(shape(), 0..4), any::<[u8; 3]>(), any::<u64>(), any::<String>());
    let enums = (tagged(), option::of(any::<i64>()), collection::vec(loose(), 0..4), color());
    let maps = (
        any::<BTreeMap<i64, String>>(),
        collection::btree_map(any::<bool>(), shape(), 0..3),
        collection::btree_map(color(), any::<u8>(), 0..3),
        collection::btree_set(any::<u64>(), 0..3),
        collection::btree_map("rest[a-z]*", any::<i64>(), 0..3),
    );
    let one =
        (numbers, plain, lists, enums, maps).prop_map(|(numbers, plain, lists, enums, maps)| {
            let (small, signed, unsigned, large, single, double) = numbers;
            let (flag, letter, text, maybe) = plain;
            let (shapes, array, wrapped, name) = lists;
            let (tagged, beside, loose, color) = enums;
            let (by_number, by_flag, by_color, wrapped_set, rest) = maps;
            Rich {
                small,
                signed,
                unsigned,
                large,
                single,
                double,
                flag,
                letter,
                text,
                nothing: (),
                unit: Unit,
                maybe,
                absent: None,
                shapes,
                array,
                wrapped: Wrapped(wrapped),
                pair: Pair(name, double),
                tagged,
                beside: beside.map_or(Beside::Nothing, Beside::Number),
                loose,
                by_number,
                by_flag,
                by_color,
                by_wrapped: wrapped_set.into_iter().map(|it| (Wrapped(it), flag)).collect(),
                more: More { extra: flag, color },
                rest,
            }
        });
    let one = one.boxed();
    (one.clone(), option::of(one))
        .prop_map(|(outer, inner)| Rich { absent: inner.map(Box::new), ..outer })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_rich_type_comes_back_as_it_was(rich in rich()) {
        let value = to_value(&rich).unwrap();
        prop_assert_eq!(&from_value::<Rich>(&value).unwrap(), &rich);
        let variables = to_assignments(&rich).unwrap();
        prop_assert_eq!(from_assignments::<Rich>(&variables).unwrap(), rich);
        prop_assert_eq!(variables.into_iter().collect::<Value>(), value);
    }

    #[test]
    fn a_type_looks_as_it_looks_as_json(rich in rich()) {
        let value = to_value(&rich).unwrap();
        let json = Value::parse_json(&serde_json::to_string(&rich).unwrap()).unwrap();
        prop_assert!(alike(&value, &json), "{value} {json}");
        prop_assert_eq!(&from_value::<Rich>(&json).unwrap(), &rich);
        prop_assert_eq!(&serde_json::from_str::<Rich>(&value.to_json()).unwrap(), &rich);
    }

    #[test]
    fn a_type_that_takes_anything_takes_what_json_gives_it(rich in rich()) {
        let value = to_value(&rich).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&value.to_json()).unwrap();
        whole_as_whole(&mut json);
        let mut found: serde_json::Value = from_value(&value).unwrap();
        whole_as_whole(&mut found);
        prop_assert_eq!(found, json);
    }

    #[test]
    fn every_json_is_a_value_and_comes_back(loose in loose()) {
        let json = serde_json::to_value(&loose).unwrap();
        let value = to_value(&json).unwrap();
        prop_assert_eq!(&value, &Value::parse_json(&json.to_string()).unwrap());
        prop_assert_eq!(from_value::<serde_json::Value>(&value).unwrap(), json);
    }

    #[test]
    fn floats_come_back_exactly(double in finite(), single in single()) {
        prop_assert_eq!(there_and_back(&double).to_bits(), double.to_bits());
        prop_assert_eq!(there_and_back(&single).to_bits(), single.to_bits());
    }

    #[test]
    fn whole_numbers_come_back_or_are_refused(a in any::<i128>(), b in any::<u128>(), shift in 0..128_u32) {
        let (a, b) = (a >> shift, b >> shift);
        let fits = |digits: String| digits.trim_end_matches('0').len() <= 34;
        match to_value(&a) {
            Ok(value) => prop_assert_eq!(from_value::<i128>(&value).unwrap(), a),
            Err(_) => prop_assert!(!fits(a.unsigned_abs().to_string())),
        }
        match to_value(&b) {
            Ok(value) => prop_assert_eq!(from_value::<u128>(&value).unwrap(), b),
            Err(_) => prop_assert!(!fits(b.to_string())),
        }
    }

    #[test]
    fn whole_types_take_exactly_what_fits(whole in any::<i128>(), shift in 64..128_u32) {
        let whole = whole >> shift;
        let value = to_value(&whole).unwrap();
        prop_assert_eq!(from_value::<u64>(&value).ok(), u64::try_from(whole).ok());
        prop_assert_eq!(from_value::<i64>(&value).ok(), i64::try_from(whole).ok());
        prop_assert_eq!(from_value::<u32>(&value).ok(), u32::try_from(whole).ok());
        prop_assert_eq!(from_value::<i8>(&value).ok(), i8::try_from(whole).ok());
    }
}

/// Whether both look the same. Of two shortest texts that are equally near to a float either is
/// right.
fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || !a.is_whole() && a.to_f32().to_bits() == b.to_f32().to_bits()
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| alike(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            let same = |((a, x), (b, y)): ((&Name, _), (&Name, _))| a == b && alike(x, y);
            a.len() == b.len() && a.iter().zip(&**b).all(same)
        }
        _ => one == other,
    }
}

/// JSON tells `2.0` from `2`, values do not.
fn whole_as_whole(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Number(number) => {
            let text = number.as_f64().filter(|it| number.is_f64() && it.fract() == 0.0);
            let text = text.map(|it| it.to_string()).unwrap_or_default();
            if let Ok(whole) = text.parse::<i64>() {
                *json = whole.into();
            } else if let Ok(whole) = text.parse::<u64>() {
                *json = whole.into();
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(whole_as_whole),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(whole_as_whole),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::String(_) => {}
    }
}

fn there_and_back<T: Serialize + DeserializeOwned>(it: &T) -> T {
    from_value(&to_value(it).unwrap()).unwrap()
}

fn problem<T: DeserializeOwned + Debug>(json: &str) -> String {
    from_value::<T>(&Value::parse_json(json).unwrap()).unwrap_err().to_string()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read only to be refused")]
struct Order {
    items: Vec<Item>,
    #[serde(default)]
    stock: BTreeMap<u32, u8>,
    #[serde(default)]
    shape: Option<Shape>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "read only to be refused")]
struct Item {
    price: u32,
}

#[test]
fn an_error_says_where_it_is() {
    for (json, message) in [
        (r#"{"items":[{"price":1},{"price":"x"}]}"#, r#"items[1].price: expected u32, found "x""#),
        (r#"{"items":[{"price":-1}]}"#, "items[0].price: expected u32, found -1"),
        (r#"{"items":[{"price":1.5}]}"#, "items[0].price: expected u32, found 1.5"),
        (r#"{"items":[{"price":4294967296}]}"#, "items[0].price: expected u32, found 4294967296"),
        (r#"{"items":[{"price":null}]}"#, "items[0].price: expected u32, found null"),
        (r#"{"items":[{}]}"#, "items[0]: missing field `price`"),
        (r#"{"items":{}}"#, "items: expected a sequence, found an object"),
        (r#"{"items":[],"stock":{"x":1}}"#, r#"stock: expected u32, found the key "x""#),
        (r#"{"items":[],"stock":{"7":256}}"#, "stock.7: expected u8, found 256"),
        (
            r#"{"items":[],"more":1}"#,
            "unknown field `more`, expected one of `items`, `stock`, `shape`",
        ),
        (
            r#"{"items":[],"shape":"Blob"}"#,
            "shape: unknown variant `Blob`, expected one of `Point`, `Circle`, `Segment`, `Polygon`",
        ),
        (
            r#"{"items":[],"shape":{"Segment":[1,true]}}"#,
            "shape.Segment[1]: expected i32, found true",
        ),
        (
            r#"{"items":[],"shape":{"Segment":[1,2,3]}}"#,
            "shape.Segment: expected a list of length 2, found length 3",
        ),
        (
            r#"{"items":[],"shape":7}"#,
            "shape: expected the name of a variant, or an object with that one field, found 7",
        ),
        (
            r#"{"items":[],"shape":{"Point":null,"Circle":1}}"#,
            "shape: expected the name of a variant, or an object with that one field, found an object",
        ),
        ("[]", "expected struct Order with 3 elements, found length 0"),
    ] {
        assert_eq!(problem::<Order>(json), message, "{json}");
    }
    assert_eq!(
        problem::<BTreeMap<String, bool>>(r#"{"a b":1}"#),
        r#"["a b"]: expected a boolean, found 1"#
    );
    let long = format!("\"{}\"", "é".repeat(1000));
    assert_eq!(
        problem::<bool>(&long),
        format!("expected a boolean, found \"{}\"…", "é".repeat(60))
    );
}

#[test]
fn what_cannot_be_kept_says_where_it_is() {
    fn message<T: Serialize>(it: T) -> String {
        to_value(&it).unwrap_err().to_string()
    }
    assert_eq!(message([0.5, f64::NAN]), "[1]: NaN is not a finite number");
    assert_eq!(message(Shape::Circle(f64::NEG_INFINITY)), "Circle: -inf is not a finite number");
    assert_eq!(
        message(BTreeMap::from([("total", u128::MAX)])),
        "total: 340282366920938463463374607431768211455 cannot be kept exactly: \
         a number has at most 34 significant digits"
    );
    assert_eq!(
        message(BTreeMap::from([((1, 2), 3)])),
        "a key must be a text, a number or a boolean, not a list"
    );
}

#[test]
fn numbers_go_by_value_and_not_by_spelling() {
    let value = Value::parse_json("2.0").unwrap();
    assert_eq!(from_value::<u8>(&value), Ok(2));
    assert_eq!(from_value::<f64>(&Value::from(2)), Ok(2.0));
    assert_eq!(to_value(&0.1_f32).unwrap().to_json(), "0.1");
    assert_eq!(to_value(&-0.0).unwrap(), Value::from(0));
    assert_eq!(to_value(&i128::from(7_u8)).unwrap(), Value::from(7));
    let large = 123_456_789 * 10_u128.pow(30);
    assert_eq!(there_and_back(&large), large);
}

#[test]
fn bytes_are_a_list_of_numbers() {
    struct Bytes;
    impl Serialize for Bytes {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&[1, 255])
        }
    }
    let value = to_value(&Bytes).unwrap();
    assert_eq!(value.to_json(), "[1,255]");
    assert_eq!(from_value::<Vec<u8>>(&value), Ok(vec![1, 255]));
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Nest(Vec<Self>);

#[test]
fn absurd_nesting_is_refused() {
    let nest = |depth| (1..depth).fold(Nest(Vec::new()), |it, _| Nest(vec![it]));
    assert_eq!(there_and_back(&nest(256)), nest(256));
    let message = to_value(&nest(257)).unwrap_err().to_string();
    assert!(message.ends_with("[0]: nested deeper than 256"), "{message}");
    let value = (0..257).fold(Value::Null, |it, _| vec![it].into());
    assert!(from_value::<Nest>(&value).unwrap_err().to_string().ends_with("deeper than 256"));
    assert!(from_value::<serde_json::Value>(&value).is_err());
}

fn variables<T: Serialize>(it: &T) -> String {
    to_assignments(it).unwrap().into_iter().collect::<Value>().to_json()
}

#[track_caller]
fn are_variables<T: Serialize + DeserializeOwned + PartialEq + Debug>(it: T, json: &str) {
    assert_eq!(variables(&it), json);
    assert_eq!(from_assignments::<T>(&to_assignments(&it).unwrap()), Ok(it));
}

#[test]
fn a_type_becomes_variables_and_comes_back() {
    are_variables(More { extra: true, color: Color::Red }, r#"{"extra":true,"color":"red"}"#);
    are_variables(Some(More { extra: true, color: Color::Red }), r#"{"extra":true,"color":"red"}"#);
    are_variables(BTreeMap::from([(7, true)]), r#"{"7":true}"#);
    are_variables(Tagged::Empty, r#"{"type":"Empty"}"#);
    are_variables((), "{}");
    are_variables(Unit, "{}");
    are_variables(None::<i64>, "{}");
    are_variables(Some(7), r#"{"value":7}"#);
    are_variables(u128::from(u64::MAX) + 1, r#"{"value":18446744073709551616}"#);
    are_variables(0.5, r#"{"value":0.5}"#);
    are_variables("x".to_owned(), r#"{"value":"x"}"#);
    are_variables(vec![1, 2], r#"{"value":[1,2]}"#);
    are_variables((1, 'x'), r#"{"value":[1,"x"]}"#);
    are_variables(Wrapped(7), r#"{"value":7}"#);
    are_variables(Shape::Point, r#"{"value":"Point"}"#);
    are_variables(Shape::Circle(1.5), r#"{"value":{"Circle":1.5}}"#);
    are_variables(
        Some(Shape::Polygon { corners: vec![], color: None }),
        r#"{"value":{"Polygon":{"corners":[],"color":null}}}"#,
    );
    are_variables(Loose::Text("x".to_owned()), r#"{"value":"x"}"#);
    are_variables(Loose::Fields { loose: Box::new(Loose::Flag(true)) }, r#"{"loose":true}"#);
}

#[test]
fn variables_that_nobody_asks_for_are_passed_over() {
    let more: [(Name, Value); 2] = [("x".into(), 1.into()), ("value".into(), 2.into())];
    assert_eq!(from_assignments::<()>(&more), Ok(()));
    assert_eq!(from_assignments::<u8>(&more), Ok(2));
}

#[test]
fn an_error_names_the_variable() {
    let message = |it: Result<bool, TypeError>| it.unwrap_err().to_string();
    let wrong = [("value".into(), 1.into())];
    assert_eq!(message(from_assignments(&wrong)), "value: expected a boolean, found 1");
    assert_eq!(message(from_assignments(&[])), "expected a boolean, found no variable `value`");
}

/// What a program holds that does not know what it gets.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Parcel {
    label: String,
    content: Value,
    weight: Number,
}

#[test]
fn a_type_can_hold_values_and_numbers_as_they_are() {
    let content = r#"{"a":[null,true,"x",-7,18446744073709551615,0.1,{}],"b":1.234567890123456789012345678901234}"#;
    let parcel = Parcel {
        label: "p".to_owned(),
        content: Value::parse_json(content).unwrap(),
        weight: "9999999999999999999999.000000000001".parse().unwrap(),
    };
    let value = to_value(&parcel).unwrap();
    let json = format!(
        r#"{{"label":"p","content":{content},"weight":9999999999999999999999.000000000001}}"#
    );
    assert_eq!(value.to_json(), json);
    assert_eq!(from_value::<Parcel>(&value).unwrap(), parcel);
    let variables = to_assignments(&parcel).unwrap();
    assert_eq!(from_assignments::<Parcel>(&variables).unwrap(), parcel);
    assert_eq!(from_value::<Value>(&value).unwrap(), value);
    assert_eq!(from_value::<Option<Value>>(&value).unwrap(), Some(value));
    let refused = from_value::<Number>(&true.into()).unwrap_err();
    assert_eq!(refused.to_string(), "true is no number");
}

#[test]
fn values_and_json_of_others_become_each_other() {
    let json = serde_json::json!({"a": [null, true, "x", -7, u64::MAX, 0.1, {}]});
    let value = to_value(&json).unwrap();
    assert_eq!(serde_json::from_value::<Value>(json.clone()).unwrap(), value);
    assert_eq!(serde_json::to_value(&value).unwrap(), json);
    assert_eq!(from_value::<serde_json::Value>(&value).unwrap(), json);
    // A number that others cannot hold is a text to them, and a number again for us.
    let long: Number = "1.234567890123456789012345678901234".parse().unwrap();
    let text = serde_json::to_string(&long).unwrap();
    assert_eq!(text, "\"1.234567890123456789012345678901234\"");
    assert_eq!(serde_json::from_str::<Number>(&text).unwrap(), long);
}
