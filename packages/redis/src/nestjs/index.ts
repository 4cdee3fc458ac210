export { injectingDecorator } from './injecting-decorator.js';
export type {
  FeatureKind,
  FeatureProvider,
  FeatureShape,
  ModuleName,
  ModuleShape,
  RootProvider,
} from './module-shape.js';
export { featureModule, rootModule } from './module-shape.js';
export { featureToken, featureTokenOf, injectorOf, rootToken, rootTokenOf } from './tokens.js';
export { withDefaults } from './with-defaults.js';
