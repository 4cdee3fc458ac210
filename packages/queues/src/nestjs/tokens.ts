import { featureToken } from '@mortise/redis/nestjs';
import { Inject } from '@nestjs/common';

/** The name of the module without a name. */
export const DEFAULT_MODULE = 'default';

/** The token of a queue that `forFeature` provides, to replace it in a test. */
export function getQueueToken(name: string, module?: string): string {
  return featureToken('Queues', 'queue', name, module);
}

/** The token of the `Claims` of a queue that `forFeature` provides. */
export function getClaimsToken(name: string, module?: string): string {
  return featureToken('Queues', 'claims', name, module);
}

/** Injects a `Queue` that `forFeature` names. `module` is the name that `forRoot` was given. */
export function InjectQueue(name: string, module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getQueueToken(name, module));
}

/** Injects the `Claims` of a queue that `forFeature` names. `module` is the name that `forRoot` was given. */
export function InjectClaims(name: string, module?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getClaimsToken(name, module));
}
