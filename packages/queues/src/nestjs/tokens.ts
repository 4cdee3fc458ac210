import { Inject } from '@nestjs/common';

/** The connection of whoever names none. */
export const DEFAULT_CONNECTION = 'default';

/** What a queue of `registerQueue` is provided as; to put another one in its place in a test. Errors of NestJS show it. */
export function queueToken(name: string, connection: string = DEFAULT_CONNECTION): string {
  const of = connection === DEFAULT_CONNECTION ? '' : ` of connection ${JSON.stringify(connection)}`;
  return `queue ${JSON.stringify(name)}${of} of QueuesModule.registerQueue`;
}

/** What shares a connection is provided as. */
export function connectionToken(connection: string): string {
  return `connection ${JSON.stringify(connection)} of QueuesModule.forRoot`;
}

/** Injects a Queue that `QueuesModule.registerQueue` names, of the connection that it is registered with. */
export function InjectQueue(name: string, connection?: string): PropertyDecorator & ParameterDecorator {
  return Inject(queueToken(name, connection));
}
