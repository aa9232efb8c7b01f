use timberline_store::*;
use std::sync::Arc;
#[derive(Debug)]
pub struct ObjectSource { meta: ObjectMeta }
impl ObjectSource { pub fn open(_s: Store, meta: ObjectMeta, _t: TenantId) -> Self { Self { meta } } }
#[async_trait::async_trait]
impl RowSource for ObjectSource {
    fn name(&self) -> &str { &self.meta.key }
    fn span(&self) -> TimeSpan { self.meta.span() }
    fn newest_first(&self) -> bool { true }
    async fn streams(&self) -> Result<Arc<[StreamInfo]>, Error> { Ok([].into()) }
    async fn runs(&self) -> Result<Arc<[RunInfo]>, Error> { Ok([].into()) }
    async fn keys(&self, _: usize) -> Result<Keys, Error> { panic!() }
    async fn lines(&self, _: usize, _: &Selection) -> Result<arrow_array::BinaryArray, Error> { panic!() }
    async fn metadata(&self, _: usize, _: &Selection, _: Option<&[String]>) -> Result<Vec<MetadataColumn>, Error> { panic!() }
}
