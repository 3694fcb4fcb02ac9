//! Text to tree, in linear time and within limits.

use std::{
    borrow::Cow,
    cell::Cell,
    collections::{HashMap, HashSet},
};

use quick_xml::{
    XmlVersion,
    errors::Error,
    escape::resolve_predefined_entity,
    events::{BytesStart, Event},
    reader::Reader,
};

use crate::{Attribute, Data, Document, Ns, Place};

/// Nesting of elements. A model of a hundred nested sub-processes needs little more than that.
const DEPTH_MAX: usize = 256;
const ATTRIBUTES_MAX: usize = 256;
const ELEMENTS_MAX: usize = 1_000_000;

/// A longer file is no document. Whoever reads one need not read more than this and one byte.
pub const FILE_BYTES_MAX: usize = 64 << 20;

/// Prefixes and what they stand for.
type Declared = Vec<(String, String)>;

/// Why a text is not a document.
#[derive(Debug)]
pub struct Fault {
    /// A stable code, such as `TV0101`.
    pub code: &'static str,
    /// Where it ends to be one.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: &'static str,
}

/// Reads a document that is meant to be in `language`: the namespace that [`Node::is`],
/// [`Node::child`] and [`Document::by_id`] are about.
///
/// [`Node::is`]: crate::Node::is
/// [`Node::child`]: crate::Node::child
pub fn read(language: Ns, file: &str, bytes: &[u8]) -> Result<Document, Fault> {
    if bytes.len() > FILE_BYTES_MAX {
        let most = FILE_BYTES_MAX >> 20;
        return Err(too_much(Place::default(), format!("the file is larger than {most} MiB")));
    }
    let text = decode(bytes)?;
    let mut builder = Builder::new(&text);
    builder.run()?;
    let elements = builder.elements;
    let mut ids = HashMap::new();
    for (position, element) in elements.iter().enumerate() {
        let id = element.attributes.iter().find(|it| it.ns == Ns::None && it.name == "id");
        if let Some(id) = id.filter(|_| element.ns == language) {
            ids.entry(id.value.clone()).or_insert(position);
        }
    }
    Ok(Document { file: file.to_owned(), language, elements, ids })
}

fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, Fault> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|it| unit([it[0], it[1]]));
        char::decode_utf16(units).collect::<Result<String, _>>().map(Cow::Owned).ok()
    };
    let text = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => std::str::from_utf8(rest).ok().map(Cow::Borrowed),
        [0xFF, 0xFE, rest @ ..] if rest.len() % 2 == 0 => wide(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] if rest.len() % 2 == 0 => wide(rest, u16::from_be_bytes),
        _ => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
    };
    text.ok_or_else(|| Fault {
        code: "TV0102",
        place: Place { line: 1, column: 1 },
        message: "the file is neither UTF-8 nor UTF-16 with a byte order mark".to_owned(),
        help: "save the file as UTF-8",
    })
}

/// Turns offsets into places. It only goes forward, which keeps the whole reading linear.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
    place: Place,
}

impl Cursor<'_> {
    fn place(&mut self, offset: usize) -> Place {
        let passed = self.text.get(self.at..offset).unwrap_or_default();
        for character in passed.chars() {
            if character == '\n' {
                self.place = Place { line: self.place.line + 1, column: 1 };
            } else {
                self.place.column += 1;
            }
        }
        self.at = self.at.max(offset);
        self.place
    }

    /// The offset of a part of the text.
    fn offset(&self, part: &str) -> usize {
        part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr()).min(self.text.len())
    }
}

struct Builder<'t> {
    text: &'t str,
    cursor: Cursor<'t>,
    elements: Vec<Data>,
    open: Vec<usize>,
    /// What each prefix stands for, innermost last.
    bindings: HashMap<String, Vec<String>>,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Self {
        let xml = ("xml".to_owned(), vec!["http://www.w3.org/XML/1998/namespace".to_owned()]);
        Self {
            text,
            cursor: Cursor { text, at: 0, place: Place { line: 1, column: 1 } },
            elements: Vec::new(),
            open: Vec::new(),
            bindings: HashMap::from([xml]),
        }
    }

    fn run(&mut self) -> Result<(), Fault> {
        let mut reader = Reader::from_str(self.text);
        loop {
            let before = offset(reader.buffer_position());
            let event = reader.read_event().map_err(|error| {
                let place = self.cursor.place(offset(reader.error_position()));
                malformed(place, &error.to_string())
            })?;
            match event {
                Event::Start(start) => self.start(&start, before)?,
                Event::Empty(start) => {
                    self.start(&start, before)?;
                    self.end();
                }
                Event::End(_) => self.end(),
                Event::Text(text) => self.add_text(&text.xml10_content(), before)?,
                Event::CData(text) => {
                    self.add_text(&text.xml10_content(), before + "<![CDATA[".len())?;
                }
                Event::GeneralRef(name) => {
                    let place = self.cursor.place(before);
                    let text = match name.resolve_char_ref() {
                        Ok(Some(character)) => character.to_string(),
                        Ok(None) => resolve_predefined_entity(&name)
                            .ok_or_else(|| no_entities(place, &format!("'&{};'", &*name)))?
                            .to_owned(),
                        Err(error) => return Err(malformed(place, &error.to_string())),
                    };
                    self.add_text(&text, before)?;
                }
                Event::DocType(_) => {
                    return Err(no_entities(self.cursor.place(before), "a DOCTYPE"));
                }
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
                Event::Eof => break,
            }
        }
        if let Some(&open) = self.open.last() {
            let element = &self.elements[open];
            return Err(malformed(element.place, &format!("<{}> is never closed", element.name)));
        }
        if self.elements.is_empty() {
            return Err(malformed(Place { line: 1, column: 1 }, "there is no element in it"));
        }
        Ok(())
    }

    fn start(&mut self, start: &BytesStart<'_>, before: usize) -> Result<(), Fault> {
        let place = self.cursor.place(before);
        if self.open.is_empty() && !self.elements.is_empty() {
            return Err(malformed(place, "there is a second outermost element"));
        }
        if self.open.len() >= DEPTH_MAX {
            return Err(too_much(place, format!("elements are nested deeper than {DEPTH_MAX}")));
        }
        if self.elements.len() >= ELEMENTS_MAX {
            return Err(too_much(place, format!("there are more than {ELEMENTS_MAX} elements")));
        }
        let (raw, declared) = self.attributes(start, place)?;
        for (prefix, uri) in &declared {
            self.bindings.entry(prefix.clone()).or_default().push(uri.clone());
        }
        let mut attributes = Vec::with_capacity(raw.len());
        let mut names = HashSet::new();
        for mut attribute in raw {
            if let Some((prefix, local)) = attribute.name.split_once(':') {
                attribute.ns = self.resolve(prefix, attribute.place)?;
                attribute.name = local.into();
            }
            if !names.insert((attribute.ns.clone(), attribute.name.clone())) {
                let message = format!("the attribute '{}' is given twice", attribute.name);
                return Err(malformed(attribute.place, &message));
            }
            attributes.push(attribute);
        }
        let full = start.name().into_inner();
        let (ns, name) = match full.split_once(':') {
            Some((prefix, local)) => (self.resolve(prefix, place)?, local),
            None => (self.resolve("", place)?, full),
        };
        let parent = self.open.last().copied();
        let position = self.elements.len();
        if let Some(parent) = parent {
            self.elements[parent].children.push(position);
        }
        self.open.push(position);
        self.elements.push(Data {
            ns,
            name: name.to_owned(),
            attributes,
            declared,
            parent,
            children: Vec::new(),
            text: String::new(),
            place,
            text_place: place,
            seen: Cell::new(false),
        });
        Ok(())
    }

    /// The attributes, with their names as written, and apart from them the namespaces declared.
    fn attributes(
        &mut self,
        start: &BytesStart<'_>,
        place: Place,
    ) -> Result<(Vec<Attribute>, Declared), Fault> {
        let mut attributes = Vec::new();
        let mut declared = Vec::new();
        for (count, attribute) in start.attributes().with_checks(false).enumerate() {
            let attribute = attribute.map_err(|error| malformed(place, &error.to_string()))?;
            let name = attribute.key.into_inner();
            let place = self.cursor.place(self.cursor.offset(name));
            if count >= ATTRIBUTES_MAX {
                let message = format!("an element has more than {ATTRIBUTES_MAX} attributes");
                return Err(too_much(place, message));
            }
            let value_place = self.cursor.place(self.cursor.offset(&attribute.value));
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| match &error {
                    Error::Escape(escape) => no_entities(value_place, &escape.to_string()),
                    _ => malformed(value_place, &error.to_string()),
                })?
                .into_owned();
            if value.contains('<') && attribute.value.contains('<') {
                return Err(malformed(value_place, "a '<' in an attribute must be written '&lt;'"));
            }
            if name == "xmlns" {
                declared.push((String::new(), value));
            } else if let Some(prefix) = name.strip_prefix("xmlns:") {
                declared.push((prefix.to_owned(), value));
            } else {
                let (ns, seen, name) = (Ns::None, Cell::new(false), name.to_owned());
                attributes.push(Attribute { ns, name, value, place, value_place, seen });
            }
        }
        Ok((attributes, declared))
    }

    fn resolve(&self, prefix: &str, place: Place) -> Result<Ns, Fault> {
        match self.bindings.get(prefix).and_then(|it| it.last()) {
            Some(uri) => Ok(Ns::of(uri)),
            None if prefix.is_empty() => Ok(Ns::None),
            None => Err(malformed(place, &format!("the prefix '{prefix}' is not declared"))),
        }
    }

    fn end(&mut self) {
        let position = self.open.pop().expect("the reader pairs start and end tags");
        for (prefix, _) in &self.elements[position].declared {
            if let Some(uris) = self.bindings.get_mut(prefix) {
                uris.pop();
            }
        }
    }

    fn add_text(&mut self, text: &str, before: usize) -> Result<(), Fault> {
        let Some(&open) = self.open.last() else {
            return match text.trim() {
                "" => Ok(()),
                _ => {
                    Err(malformed(self.cursor.place(before), "there is text outside all elements"))
                }
            };
        };
        let element = &mut self.elements[open];
        if element.text.is_empty() {
            element.text_place = self.cursor.place(before);
        }
        element.text.push_str(text);
        Ok(())
    }
}

fn offset(position: u64) -> usize {
    usize::try_from(position).expect("the text is in memory")
}

fn malformed(place: Place, message: &str) -> Fault {
    let message = format!("this is not well-formed XML: {message}");
    Fault { code: "TV0101", place, message, help: "open the file in a modeler and save it again" }
}

fn too_much(place: Place, message: String) -> Fault {
    Fault { code: "TV0104", place, message, help: "split the model into several files" }
}

fn no_entities(place: Place, what: &str) -> Fault {
    Fault {
        code: "TV0103",
        place,
        message: format!("entities and DTDs are refused: {what}"),
        help: "write the text itself; only &lt; &gt; &amp; &quot; &apos; and &#…; are read",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (&'static str, u32, u32) {
        let fault = read(Ns::Bpmn, "test", text.as_bytes()).unwrap_err();
        (fault.code, fault.place.line, fault.place.column)
    }

    #[test]
    fn elements_and_attributes_know_their_places() {
        let text = "<a xmlns='x'>\n  <ä b='1'\n     c='2'/>\n</a>";
        let document = read(Ns::Bpmn, "test", text.as_bytes()).unwrap();
        let child = document.root().children().next().unwrap();
        assert_eq!(child.place(), Place { line: 2, column: 3 });
        assert_eq!(child.attributes()[0].place, Place { line: 2, column: 6 });
        assert_eq!(child.attributes()[1].place, Place { line: 3, column: 6 });
        assert_eq!(child.attributes()[1].value_place, Place { line: 3, column: 9 });
    }

    #[test]
    fn text_is_joined_and_unescaped() {
        let document = read(Ns::Bpmn, "test", b"<a>1 &lt; <![CDATA[2 & 3]]>&#33;</a>").unwrap();
        assert_eq!(document.root().text(), "1 < 2 & 3!");
    }

    #[test]
    fn utf_16_is_read() {
        let mut bytes = vec![0xFF, 0xFE];
        bytes.extend("<a b='ü'/>".encode_utf16().flat_map(u16::to_le_bytes));
        assert_eq!(read(Ns::Bpmn, "test", &bytes).unwrap().root().attr("b"), Some("ü"));
    }

    #[test]
    fn entities_are_refused() {
        assert_eq!(fault("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>").0, "TV0103");
        assert_eq!(fault("<a>\n&b;</a>"), ("TV0103", 2, 1));
        assert_eq!(fault("<a b='&c;'/>").0, "TV0103");
    }

    #[test]
    fn what_is_not_well_formed_is_refused_with_its_place() {
        assert_eq!(fault("<a>\n  <b></a>"), ("TV0101", 2, 6));
        assert_eq!(fault("<a>"), ("TV0101", 1, 1));
        assert_eq!(fault("").0, "TV0101");
        assert_eq!(fault("<a/><b/>").0, "TV0101");
        assert_eq!(fault("<a b='1' b='2'/>"), ("TV0101", 1, 10));
        assert_eq!(fault("<x:a/>").0, "TV0101");
        assert_eq!(read(Ns::Bpmn, "test", b"<a>\xFF</a>").unwrap_err().code, "TV0102");
    }

    #[test]
    fn absurd_sizes_are_refused_at_once() {
        let attributes: Vec<_> = (0..60_000).map(|it| format!(" a{it}='1'")).collect();
        assert_eq!(fault(&format!("<a{}/>", attributes.concat())).0, "TV0104");
        let nested: Vec<_> = (0..4_000).map(|it| format!("<a xmlns:p{it}='u{it}'>")).collect();
        assert_eq!(fault(&nested.concat()).0, "TV0104");
    }

    #[test]
    fn prefixes_end_with_their_element() {
        assert_eq!(fault("<a><b xmlns:x='u'/><x:c/></a>").0, "TV0101");
    }
}
