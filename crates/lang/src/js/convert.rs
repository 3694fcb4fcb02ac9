//! Values on their way into a script and back.
//!
//! No number is rounded on the way: one that a double cannot hold goes in as a `BigInt` if it is
//! whole, and not at all otherwise.

use rquickjs::{Array, BigInt, Coerced, Ctx, FromJs, Object, Type, object::Filter};
use travertine_value::{EvalError, Limit, Limits, Map, Name, Number, Value};

/// How deep values may nest, whatever the settings say: reading them recurses, and so does everyone
/// who gets them afterwards.
pub(super) const DEPTH_MAX: usize = 256;

/// Why a value cannot pass, and where in it.
#[derive(Debug)]
pub(super) struct Refusal {
    /// From the inside out.
    path: Vec<String>,
    reason: Reason,
}

#[derive(Debug)]
pub(super) enum Reason {
    Limit(Limit),
    Unfit(String),
    /// The script's own code, called on the way, threw; or memory ran out.
    Thrown(rquickjs::Error),
}

impl Refusal {
    fn at_index(mut self, index: usize) -> Self {
        self.path.push(format!("[{index}]"));
        self
    }

    fn at_field(mut self, name: &str) -> Self {
        self.path.push(format!(".{name}"));
        self
    }

    /// The reason, unless it lies in the value: then an error that names the place.
    pub(super) fn into_error(self, name: &str) -> Result<EvalError, rquickjs::Error> {
        let mut place = name.to_owned();
        place.extend(self.path.into_iter().rev());
        match self.reason {
            Reason::Limit(limit) => Ok(EvalError::Limit(limit)),
            Reason::Unfit(what) => Ok(EvalError::Failed(format!("{place} {what}"))),
            Reason::Thrown(error) => Err(error),
        }
    }
}

impl From<rquickjs::Error> for Refusal {
    fn from(error: rquickjs::Error) -> Self {
        Self { path: Vec::new(), reason: Reason::Thrown(error) }
    }
}

fn unfit(what: impl Into<String>) -> Refusal {
    Refusal { path: Vec::new(), reason: Reason::Unfit(what.into()) }
}

fn beyond(limit: Limit) -> Refusal {
    Refusal { path: Vec::new(), reason: Reason::Limit(limit) }
}

/// A value for a script.
pub(super) fn to_js<'js>(
    ctx: &Ctx<'js>,
    value: &Value,
    depth_left: usize,
) -> Result<rquickjs::Value<'js>, Refusal> {
    let deeper = || depth_left.checked_sub(1).ok_or_else(|| beyond(Limit::Depth));
    Ok(match value {
        Value::Null => rquickjs::Value::new_null(ctx.clone()),
        Value::Bool(it) => rquickjs::Value::new_bool(ctx.clone(), *it),
        Value::Number(number) => number_to_js(ctx, *number)?,
        Value::String(text) => rquickjs::String::from_str(ctx.clone(), text)?.into_value(),
        Value::List(items) => {
            let list = Array::new(ctx.clone())?;
            for (index, item) in items.iter().enumerate() {
                let item = to_js(ctx, item, deeper()?).map_err(|it| it.at_index(index))?;
                list.set(index, item)?;
            }
            list.into_value()
        }
        Value::Map(fields) => {
            let object = Object::new(ctx.clone())?;
            for (name, field) in fields.iter() {
                let field = to_js(ctx, field, deeper()?).map_err(|it| it.at_field(name))?;
                if &**name == "__proto__" {
                    // Setting it would not make a field.
                    let field = rquickjs::object::Property::from(field);
                    object.prop("__proto__", field.writable().enumerable().configurable())?;
                } else {
                    object.set(&**name, field)?;
                }
            }
            object.into_value()
        }
    })
}

/// Whether a number in the value becomes a `BigInt`.
pub(super) fn has_big_numbers(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => false,
        Value::Number(number) => Number::from_f64(number.to_f64()) != Some(*number),
        Value::List(items) => items.iter().any(has_big_numbers),
        Value::Map(fields) => fields.values().any(has_big_numbers),
    }
}

fn number_to_js<'js>(ctx: &Ctx<'js>, number: Number) -> Result<rquickjs::Value<'js>, Refusal> {
    let double = number.to_f64();
    if Number::from_f64(double) == Some(number) {
        return Ok(rquickjs::Value::new_number(ctx.clone(), double));
    }
    if let Some(whole) = number.to_i64() {
        return Ok(BigInt::from_i64(ctx.clone(), whole)?.into_value());
    }
    if number.is_whole() {
        return Ok(ctx.eval(format!("{number}n"))?);
    }
    Err(unfit("has more digits than a JavaScript number can hold"))
}

/// The length of a list. The library's own `len` is wrong beyond `i32`.
pub(super) fn length(list: &Array<'_>) -> rquickjs::Result<usize> {
    let length: f64 = list.as_object().get("length")?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^32")]
    Ok(length as usize)
}

/// Takes values out of a script.
pub(super) struct Reader<'js> {
    ctx: Ctx<'js>,
    object_prototype: Option<Object<'js>>,
    /// The lists and objects around the current one.
    around: Vec<rquickjs::Value<'js>>,
    depth_max: usize,
    /// A small graph that shares its parts can be an enormous tree.
    bytes_left: usize,
}

impl<'js> Reader<'js> {
    pub(super) fn new(ctx: &Ctx<'js>, target: &Object<'js>, limits: &Limits) -> Self {
        Self {
            ctx: ctx.clone(),
            object_prototype: target.get_prototype(),
            around: Vec::new(),
            depth_max: limits.depth_max.min(DEPTH_MAX),
            bytes_left: limits.memory_bytes_max,
        }
    }

    /// A value of a script; nothing for `undefined`. It recurses, so the stack it takes matters: what
    /// does not recurse is elsewhere.
    pub(super) fn read(&mut self, value: rquickjs::Value<'js>) -> Result<Option<Value>, Refusal> {
        self.charge(size_of::<Value>())?;
        match value.type_of() {
            Type::Array => self.list(value),
            Type::Object | Type::Exception | Type::Proxy => self.object(value),
            other => self.scalar(value, other),
        }
    }

    #[inline(never)]
    fn scalar(
        &mut self,
        value: rquickjs::Value<'js>,
        kind: Type,
    ) -> Result<Option<Value>, Refusal> {
        Ok(Some(match kind {
            Type::Undefined | Type::Uninitialized => return Ok(None),
            Type::Null => Value::Null,
            Type::Bool => bool::from_js(&self.ctx, value)?.into(),
            Type::Int => i32::from_js(&self.ctx, value)?.into(),
            Type::Float => {
                let double = f64::from_js(&self.ctx, value)?;
                let number = Number::from_f64(double);
                number.ok_or_else(|| unfit(format!("is not a number: {double}")))?.into()
            }
            Type::BigInt => {
                let digits = Coerced::<String>::from_js(&self.ctx, value)?.0;
                let number = digits.parse::<Number>();
                number.map_err(|error| unfit(format!("cannot be kept: {error}")))?.into()
            }
            Type::String => self.text(value)?.into(),
            Type::Function | Type::Constructor => return Err(unfit("is a function")),
            Type::Symbol => return Err(unfit("is a symbol")),
            Type::Promise => return Err(unfit("is a promise")),
            _ => return Err(unfit("is not a value")),
        }))
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.bytes_left =
            self.bytes_left.checked_sub(bytes).ok_or_else(|| beyond(Limit::Memory))?;
        Ok(())
    }

    fn text(&mut self, value: rquickjs::Value<'js>) -> Result<String, Refusal> {
        match String::from_js(&self.ctx, value) {
            Ok(text) => {
                self.charge(text.len())?;
                Ok(text)
            }
            Err(rquickjs::Error::Utf8(_)) => Err(unfit("holds half of a surrogate pair")),
            Err(error) => Err(error.into()),
        }
    }

    fn enter(&mut self, value: &rquickjs::Value<'js>) -> Result<(), Refusal> {
        if self.around.contains(value) {
            return Err(unfit("contains itself"));
        }
        if self.around.len() == self.depth_max {
            return Err(beyond(Limit::Depth));
        }
        self.around.push(value.clone());
        Ok(())
    }

    fn list(&mut self, value: rquickjs::Value<'js>) -> Result<Option<Value>, Refusal> {
        self.enter(&value)?;
        let list = Array::from_js(&self.ctx, value)?;
        let mut items = Vec::new();
        for index in 0..length(&list)? {
            match self.read(list.get(index)?) {
                Ok(item) => items.push(item.unwrap_or_default()),
                Err(refusal) => return Err(refusal.at_index(index)),
            }
        }
        self.around.pop();
        Ok(Some(items.into()))
    }

    fn object(&mut self, value: rquickjs::Value<'js>) -> Result<Option<Value>, Refusal> {
        self.enter(&value)?;
        let object = Object::from_js(&self.ctx, value)?;
        self.refuse_special(&object)?;
        let mut fields = Map::new();
        for key in object.own_keys::<rquickjs::Value<'js>>(Filter::new().string().enum_only()) {
            let (name, field) = self.field(&object, key?)?;
            match self.read(field) {
                // As in JSON, a field that is undefined is no field.
                Ok(None) => {}
                Ok(Some(field)) => {
                    fields.insert(name, field);
                }
                Err(refusal) => return Err(refusal.at_field(&name)),
            }
        }
        self.around.pop();
        Ok(Some(fields.into()))
    }

    #[inline(never)]
    fn field(
        &mut self,
        object: &Object<'js>,
        key: rquickjs::Value<'js>,
    ) -> Result<(Name, rquickjs::Value<'js>), Refusal> {
        let name = Coerced::<rquickjs::String<'js>>::from_js(&self.ctx, key.clone())?.0;
        let name = self.text(name.into_value())?;
        Ok((name.into(), object.get(key)?))
    }

    /// What a `Map` or a `RegExp` holds is not in its fields, and would be lost.
    fn refuse_special(&self, object: &Object<'js>) -> Result<(), Refusal> {
        let prototype = object.get_prototype();
        if prototype.is_none() || prototype == self.object_prototype {
            return Ok(());
        }
        let Some(base) = &self.object_prototype else { return Ok(()) };
        let to_string: rquickjs::Function<'js> = base.get("toString")?;
        let described: Coerced<String> =
            to_string.call((rquickjs::function::This(object.clone()),))?;
        match described.0.as_str() {
            "[object Object]" => Ok(()),
            other => {
                let class = other.trim_start_matches("[object ").trim_end_matches(']');
                Err(unfit(format!("is of class {class}, which is not a value")))
            }
        }
    }
}
