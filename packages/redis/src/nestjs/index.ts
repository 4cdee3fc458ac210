export { injectingDecorator } from './injecting-decorator.js';
export type { ModuleClient } from './module-client.js';
export type { FeatureKind, FeatureShape, ModuleExtras, ModuleShape, RootProvider } from './module-shape.js';
export { featureModule, rootModule } from './module-shape.js';
export { featureTokenOf, injectorOf, rootTokenOf } from './tokens.js';
export { withDefaults } from './with-defaults.js';
