//! The function under `#[workflow]` or `#[activity]`: read, and refused with all that is wrong with it at once.
//! What is written in its place is the business of `workflow.rs` and `activity.rs`.

use std::fmt::Display;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Abi, Attribute, Error, FnArg, GenericArgument, Pat, PatType, PathArguments, PathSegment,
    Result, ReturnType, Safety, Signature, Token, Type, Visibility, ext::IdentExt,
    parse::ParseStream, spanned::Spanned, token::Brace,
};

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Workflow,
    Activity,
}

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Self::Workflow => "a workflow",
            Self::Activity => "an activity",
        }
    }

    fn context(self) -> &'static str {
        match self {
            Self::Workflow => "Context",
            Self::Activity => "ActivityContext",
        }
    }

    fn form(self) -> &'static str {
        match self {
            Self::Workflow => "async fn order(cx: Context, order: Order) -> Flow<Outcome>",
            Self::Activity => {
                "async fn charge(cx: ActivityContext, card: Card) -> Result<ChargeId, Failure>"
            }
        }
    }

    fn returns(self) -> &'static str {
        match self {
            Self::Workflow => "a workflow returns `Flow<T>`, which is `Result<T, Stop>`",
            Self::Activity => "an activity returns `Result<T, Failure>`",
        }
    }

    fn nothing(self) -> &'static str {
        match self {
            Self::Workflow => "-> Flow<()>",
            Self::Activity => "-> Result<(), Failure>",
        }
    }
}

/// A function that can be a workflow or an activity.
pub(crate) struct Function {
    kind: Kind,
    /// What is said about the function as a whole: documentation, conditions, lints.
    pub(crate) attributes: Vec<Attribute>,
    /// What other macros shall make of its code.
    pub(crate) code_attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) ident: Ident,
    pub(crate) has_context: bool,
    pub(crate) parameters: Vec<Parameter>,
    /// The `T` of `Flow<T>` or `Result<T, …>`.
    pub(crate) result: Type,
    /// All of it as it was written, in parentheses.
    pub(crate) inputs: TokenStream,
    pub(crate) output: Type,
    pub(crate) body: TokenTree,
}

/// A parameter whose argument is stored.
pub(crate) struct Parameter {
    /// Without a leading `_`: whoever describes a call uses it.
    pub(crate) ident: Ident,
    /// Under which its argument is stored: the same, so that code which stops using an argument still understands the
    /// instances of the code which did.
    pub(crate) name: String,
    pub(crate) ty: Type,
}

impl Function {
    pub(crate) fn read(kind: Kind, item: TokenStream) -> Result<Self> {
        let parse = |input: ParseStream<'_>| Item::read(kind, input);
        let Item { attributes, visibility, signature, body } =
            syn::parse::Parser::parse2(parse, item)?;

        let mut problems = Problems(None);
        problems.of_signature(kind, &signature);
        let (has_context, parameters) = problems.of_parameters(kind, &signature);
        let output = match &signature.output {
            ReturnType::Default => None,
            ReturnType::Type(_, output) => Some((**output).clone()),
        };
        let result = problems.of_result(kind, &signature, output.as_ref());
        problems.none()?;

        let (attributes, code_attributes) = attributes.into_iter().partition(is_about_the_whole);
        let inputs = signature.inputs;
        Ok(Self {
            kind,
            attributes,
            code_attributes,
            visibility,
            ident: signature.ident,
            has_context,
            parameters,
            result: result.expect("a result that cannot be told is a problem"),
            inputs: quote!((#inputs)),
            output: output.expect("a missing return type is a problem"),
            body,
        })
    }
}

impl Function {
    /// The function that is left under the name, which describes a call. Its code and its registration stand inside,
    /// so that conditions and lints which are set on it hold for them too.
    pub(crate) fn described(&self, parts: &Parts) -> TokenStream {
        let Self { attributes, code_attributes, visibility, ident, inputs, output, body, .. } =
            self;
        let Parts { travertine, name, slice, definition, fields, call, options } = parts;
        let result = &self.result;
        let names: Vec<_> = self.parameters.iter().map(|it| &it.ident).collect();
        let types: Vec<_> = self.parameters.iter().map(|it| &it.ty).collect();
        let stored: Vec<_> = self.parameters.iter().map(|it| &it.name).collect();
        let arguments = self.parameters.iter().map(
            |Parameter { ident, name, ty }| quote_spanned!(place(ty)=> .argument(#name, &#ident)),
        );
        let run = self.run(parts);
        // It is in use even if nobody calls it but by its name.
        quote! {
            #[allow(dead_code)]
            #(#attributes)*
            #visibility fn #ident(#(#names: #types),*) -> #travertine::#call<#result> {
                const _: () = {
                    #(#code_attributes)*
                    #[allow(clippy::unused_async)]
                    async fn __travertine_body #inputs -> #output #body

                    #[#travertine::__macros::linkme::distributed_slice(#travertine::__macros::#slice)]
                    #[linkme(crate = #travertine::__macros::linkme)]
                    static DEFINITION: #travertine::__macros::#definition = #travertine::__macros::#definition {
                        name: #name,
                        #fields,
                        parameters: &[#(#stored),*],
                        run: #run,
                    };
                };
                #travertine::#call::new(#name, #options) #(#arguments)*
            }
        }
    }

    /// From arguments as they are stored to a result as it is stored.
    fn run(&self, Parts { travertine, name, .. }: &Parts) -> TokenStream {
        let context = self.has_context.then(|| quote!(context,));
        let hears_context = if self.has_context { quote!(context) } else { quote!(_) };
        let hears_arguments =
            if self.parameters.is_empty() { quote!(_) } else { quote!(mut arguments) };
        let take = self.parameters.iter().map(
            |Parameter { name, ty, .. }| quote_spanned!(place(ty)=> arguments.take::<#ty>(#name)?),
        );
        let result = &self.result;
        let encode = quote_spanned!(place(result)=> #travertine::__macros::encode(#name, &result));
        let encoded = match self.kind {
            // `?` makes a `Stop` of the failure.
            Kind::Workflow => quote!(#travertine::__macros::Flow::Ok(#encode?)),
            Kind::Activity => encode,
        };
        quote_spanned! {place(&self.ident)=>
            |#hears_context, #hears_arguments| ::std::boxed::Box::pin(async move {
                let result: #result = __travertine_body(#context #(#take),*).await?;
                #encoded
            })
        }
    }
}

/// Where the compiler shall point for what we have written, as ours.
fn place(it: &impl Spanned) -> Span {
    it.span().resolved_at(Span::call_site())
}

/// In what the functions that describe calls of workflows and of activities differ.
pub(crate) struct Parts {
    pub(crate) travertine: TokenStream,
    pub(crate) name: String,
    /// Where it is registered.
    pub(crate) slice: Ident,
    /// As what.
    pub(crate) definition: Ident,
    /// The fields of that which only one of them has.
    pub(crate) fields: TokenStream,
    /// What a call is.
    pub(crate) call: Ident,
    /// What it is made from besides the name.
    pub(crate) options: TokenStream,
}

/// Attributes of the language stay where documentation and callers see them.
fn is_about_the_whole(attribute: &Attribute) -> bool {
    const OURS: [&str; 16] = [
        "doc",
        "cfg",
        "cfg_attr",
        "allow",
        "warn",
        "deny",
        "forbid",
        "expect",
        "deprecated",
        "must_use",
        "clippy",
        "rustfmt",
        "rustdoc",
        "diagnostic",
        "rust_analyzer",
        "miri",
    ];
    let first = attribute.path().segments.first();
    first.is_some_and(|first| OURS.iter().any(|it| first.ident == it))
}

/// A function whose body is left to the compiler, which says more about it than we could.
struct Item {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: TokenTree,
}

impl Item {
    fn read(kind: Kind, input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let ahead = input.fork();
        ahead.parse::<Option<Token![const]>>()?;
        ahead.parse::<Option<Token![async]>>()?;
        ahead.parse::<Option<Token![unsafe]>>()?;
        ahead.parse::<Option<Abi>>()?;
        if !ahead.peek(Token![fn]) {
            let problem = format!("{} is a function: `{} {{ … }}`", kind.noun(), kind.form());
            return Err(input.error(problem));
        }
        let signature = input.parse()?;
        if !input.peek(Brace) {
            let problem = format!("{} has a body: `{} {{ … }}`", kind.noun(), kind.form());
            return Err(input.error(problem));
        }
        Ok(Self { attributes, visibility, signature, body: input.parse()? })
    }
}

/// All that is wrong with a function.
struct Problems(Option<Error>);

impl Problems {
    fn add(&mut self, place: impl ToTokens, problem: impl Display) {
        let problem = Error::new_spanned(place, problem);
        match &mut self.0 {
            Some(all) => all.combine(problem),
            None => self.0 = Some(problem),
        }
    }

    fn none(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }

    fn of_signature(&mut self, kind: Kind, signature: &Signature) {
        let noun = kind.noun();
        let Signature { constness, asyncness, safety, abi, fn_token, generics, variadic, .. } =
            signature;
        if asyncness.is_none() {
            self.add(fn_token, format!("{noun} is async: write `async fn {}`", signature.ident));
        }
        if let Some(constness) = constness {
            self.add(constness, format!("{noun} cannot be `const`: it runs in the engine"));
        }
        if let Safety::Unsafe(safety) = safety {
            let problem = format!(
                "{noun} cannot be `unsafe`: the engine calls it; put `unsafe` around what needs it inside"
            );
            self.add(safety, problem);
        }
        if let Some(abi) = abi {
            self.add(
                abi,
                format!("{noun} cannot be `extern`: the engine calls it, and nobody else"),
            );
        }
        if !generics.params.is_empty() {
            let problem = format!(
                "{noun} has no generic parameters or lifetimes: it is stored under one name, with one type for each \
                 argument; write the types here, and let it call a generic function"
            );
            self.add(&generics.params, problem);
        } else if let Some(clause) = &generics.where_clause {
            self.add(clause, format!("{noun} has no `where` clause: it has no generic parameters"));
        }
        if let Some(variadic) = variadic {
            self.add(variadic, format!("{noun} has a fixed number of parameters: take a `Vec`"));
        }
    }

    /// Whether there is a context, and the parameters after it.
    fn of_parameters(&mut self, kind: Kind, signature: &Signature) -> (bool, Vec<Parameter>) {
        let mut inputs = signature.inputs.iter().peekable();
        if let Some(FnArg::Receiver(receiver)) = inputs.peek() {
            let noun = kind.noun();
            let problem = format!(
                "{noun} is no method: it may run in another process, where there is no such `self`"
            );
            self.add(receiver, problem);
            inputs.next();
        }
        let first = match inputs.peek() {
            Some(FnArg::Typed(first)) => Some(first),
            Some(FnArg::Receiver(_)) | None => None,
        };
        let has_context = first.is_some_and(|first| names_context(kind, &first.ty));
        match (kind, first) {
            _ if has_context => {
                inputs.next();
            }
            (Kind::Workflow, Some(first)) if is_reference_to_context(kind, &first.ty) => {
                self.add(&first.ty, "the context is handed over: write `Context` without `&`");
                inputs.next();
            }
            (Kind::Activity, Some(first)) if is_reference_to_context(kind, &first.ty) => {
                self.add(
                    &first.ty,
                    "the context is handed over: write `ActivityContext` without `&`",
                );
                inputs.next();
            }
            (Kind::Workflow, first) if signature.receiver().is_none() => {
                let problem = format!("a workflow begins with its context: `{}`", kind.form());
                match first {
                    Some(first) => self.add(first, problem),
                    None => self.add(&signature.ident, problem),
                }
            }
            (Kind::Workflow | Kind::Activity, _) => {}
        }
        let mut parameters: Vec<Parameter> = Vec::new();
        for input in inputs {
            let FnArg::Typed(input) = input else { continue };
            let Some(parameter) = self.of_parameter(kind, input) else { continue };
            if parameters.iter().any(|it| it.name == parameter.name) {
                let name = &parameter.name;
                self.add(input, format!("two arguments would be stored as `{name}`: rename one"));
            }
            parameters.push(parameter);
        }
        (has_context, parameters)
    }

    fn of_parameter(&mut self, kind: Kind, input: &PatType) -> Option<Parameter> {
        let ident = match &*input.pat {
            Pat::Ident(it) if it.by_ref.is_none() && it.subpat.is_none() => Some(used(&it.ident)),
            _ => None,
        };
        if ident.is_none() {
            let problem = "an argument is stored under the name of its parameter: write a name here, and take it \
                           apart inside";
            self.add(&input.pat, problem);
        }
        for (other, message) in [
            (
                Kind::Workflow,
                "durable calls belong in workflows: let the workflow ask for this activity, and for the next one with what comes of it",
            ),
            (
                Kind::Activity,
                "a workflow is given a `Context`: what needs an `ActivityContext` belongs in an activity",
            ),
        ] {
            if !names_context(other, &input.ty) {
                continue;
            }
            if other == kind {
                self.add(&input.ty, "the context is the first parameter, and there is only one");
            } else {
                self.add(&input.ty, message);
            }
            return None;
        }
        self.of_stored(&input.ty, "an argument");
        let ident = ident?;
        Some(Parameter { name: ident.unraw().to_string(), ident, ty: (*input.ty).clone() })
    }

    /// What is stored must be there when the program that made it is gone.
    fn of_stored(&mut self, ty: &Type, what: &str) {
        let mut words = Vec::new();
        flatten(ty.to_token_stream(), &mut words);
        let after = |sign: &str| {
            let at = words.iter().position(|it| it == sign)?;
            Some(words[at + 1..].iter().find(|it| *it != "mut").map_or("", String::as_str))
        };
        if let Some(referent) = after("&") {
            let instead = match referent {
                "str" => "`String`",
                "[" => "a `Vec`",
                _ => "the type itself",
            };
            self.add(
                ty,
                format!(
                    "{what} is stored and cannot borrow: write {instead} instead of a reference"
                ),
            );
        } else if after("'").is_some() {
            self.add(
                ty,
                format!("{what} is stored and cannot borrow: write a type without lifetimes"),
            );
        } else if after("impl").is_some() {
            self.add(ty, format!("{what} is stored and has one type: write it instead of `impl`"));
        }
    }

    /// The `T` of the result.
    fn of_result(
        &mut self,
        kind: Kind,
        signature: &Signature,
        output: Option<&Type>,
    ) -> Option<Type> {
        let Some(output) = output else {
            let problem = format!(
                "{}: write `{}` if there is nothing to return",
                kind.returns(),
                kind.nothing()
            );
            self.add(&signature.ident, problem);
            return None;
        };
        let segment = last_segment(output);
        let types = segment.map(types_of).unwrap_or_default();
        let result =
            match (kind, segment.map(|it| it.ident.to_string()).as_deref(), types.as_slice()) {
                (Kind::Workflow, Some("Flow"), [result]) => Some(result),
                (Kind::Workflow, Some("Result"), [result, error]) if is_called(error, "Stop") => {
                    Some(result)
                }
                (Kind::Activity, Some("Result"), [result, error])
                    if is_called(error, "Failure") =>
                {
                    Some(result)
                }
                (Kind::Workflow | Kind::Activity, _, _) => None,
            };
        let Some(result) = result else {
            self.add(output, kind.returns());
            return None;
        };
        self.of_stored(result, "a result");
        Some((*result).clone())
    }
}

fn names_context(kind: Kind, ty: &Type) -> bool {
    is_called(ty, kind.context())
}

fn is_reference_to_context(kind: Kind, ty: &Type) -> bool {
    matches!(bare(ty), Type::Reference(it) if names_context(kind, &it.elem))
}

fn is_called(ty: &Type, name: &str) -> bool {
    last_segment(ty).is_some_and(|it| it.ident == name)
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    let Type::Path(ty) = bare(ty) else { return None };
    ty.path.segments.last()
}

fn types_of(segment: &PathSegment) -> Vec<&Type> {
    let PathArguments::AngleBracketed(all) = &segment.arguments else { return Vec::new() };
    let types =
        all.args.iter().map(|it| if let GenericArgument::Type(it) = it { Some(it) } else { None });
    types.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// An identifier without the `_` that says it is not used, if it is one without.
fn used(ident: &Ident) -> Ident {
    let name = ident.to_string();
    let name = name.trim_start_matches('_');
    let used = syn::parse_str::<Ident>(name).or_else(|_| syn::parse_str(&format!("r#{name}")));
    let mut used = used.unwrap_or_else(|_| ident.clone());
    used.set_span(ident.span());
    used
}

/// Without parentheses, or the invisible ones that other macros leave.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(it) => bare(&it.elem),
        Type::Paren(it) => bare(&it.elem),
        _ => ty,
    }
}

/// All tokens in a row, without `'static`, and of brackets those that open slices and arrays.
fn flatten(tokens: TokenStream, into: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(it) => {
                if it.delimiter() == Delimiter::Bracket {
                    into.push("[".to_owned());
                }
                flatten(it.stream(), into);
            }
            TokenTree::Ident(it) if it == "static" => {
                into.pop();
            }
            token => into.push(token.to_string()),
        }
    }
}
