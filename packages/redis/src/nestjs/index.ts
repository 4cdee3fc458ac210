export { injectingDecorator } from './injecting-decorator.js';
export type { FeatureProvider, ModuleName, ModuleShape, RootProvider } from './module-shape.js';
export { featureModule, rootModule } from './module-shape.js';
export { featureToken, rootToken } from './tokens.js';
export { withDefaults } from './with-defaults.js';
