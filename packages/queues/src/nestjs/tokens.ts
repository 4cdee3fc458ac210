import { Inject } from '@nestjs/common';

/** What a queue of `registerQueue` is provided as; to put another one in its place in a test. Errors of NestJS show it. */
export function queueToken(name: string): string {
  return `queue ${JSON.stringify(name)} of QueuesModule.registerQueue`;
}

/** Injects a Queue that `QueuesModule.registerQueue` names. */
export function InjectQueue(name: string): PropertyDecorator & ParameterDecorator {
  return Inject(queueToken(name));
}
