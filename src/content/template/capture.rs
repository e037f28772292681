//! `{% capture name %}…{% endcapture %}`, whose output is limited while it is written.

use std::io::Write;

use liquid_core::{
    BlockReflection, Language, ParseBlock, Renderable, Result, Runtime, TagBlock, TagTokenIter,
    Template, Value, model::KString,
};

use super::{RenderFault, meter};

#[derive(Debug, Clone, Copy)]
pub(super) struct Capture;

impl BlockReflection for Capture {
    fn start_tag(&self) -> &'static str {
        "capture"
    }

    fn end_tag(&self) -> &'static str {
        "endcapture"
    }

    fn description(&self) -> &'static str {
        "keeps what its content writes"
    }
}

impl ParseBlock for Capture {
    fn parse(
        &self,
        mut arguments: TagTokenIter<'_>,
        mut block: TagBlock<'_, '_>,
        language: &Language,
    ) -> Result<Box<dyn Renderable>> {
        let name =
            arguments.expect_next("a name is expected")?.expect_identifier().into_result()?;
        let name = KString::from_ref(name);
        arguments.expect_nothing()?;
        let content = Template::new(block.parse_all(language)?);
        block.assert_empty();
        Ok(Box::new(Captured { name, content }))
    }

    fn reflection(&self) -> &dyn BlockReflection {
        self
    }
}

#[derive(Debug)]
struct Captured {
    name: KString,
    content: Template,
}

impl Renderable for Captured {
    fn render_to(&self, _: &mut dyn Write, runtime: &dyn Runtime) -> Result<()> {
        let room = meter::of(runtime).room();
        let mut output = meter::Output::new(room);
        let ended = self.content.render_to(&mut output, runtime);
        if output.is_over() {
            return Err(meter::of(runtime).stop(RenderFault::Kept));
        }
        ended?;
        runtime.set_global(self.name.clone(), Value::scalar(output.into_text()));
        Ok(())
    }
}
