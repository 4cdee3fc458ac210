import { featureTokenOf, injectorOf, rootTokenOf } from '@mortise/redis/nestjs';
import { Queues } from './queues.js';

/** The name of the module without a name. */
export const DEFAULT_MODULE = 'default';

/** The token of `Queues`. `module` is the name that `forRoot` was given; without one, the class is the token. */
export const getQueuesToken = /* @__PURE__ */ rootTokenOf('Queues', Queues);

/** Injects `Queues`. `module` is the name that `forRoot` was given. */
export const InjectQueues = /* @__PURE__ */ injectorOf(getQueuesToken);

/** The token of a queue that `forFeature` provides, to replace it in a test. */
export const getQueueToken = /* @__PURE__ */ featureTokenOf('Queues', 'queue');

/** Injects a `Queue` that `forFeature` names. `module` is the name that `forRoot` was given. */
export const InjectQueue = /* @__PURE__ */ injectorOf(getQueueToken);

/** The token of the `Claims` of a queue that `forFeature` provides. */
export const getClaimsToken = /* @__PURE__ */ featureTokenOf('Queues', 'claims');

/** Injects the `Claims` of a queue that `forFeature` names. `module` is the name that `forRoot` was given. */
export const InjectClaims = /* @__PURE__ */ injectorOf(getClaimsToken);
