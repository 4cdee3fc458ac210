import { CodedError } from '@mortise/redis';

/**
 * This object already runs `maxRunning` bulk operations. Nothing was started.
 *
 * @remedy Start the operation when another one has ended, or raise `maxRunning`.
 */
export class TooManyOperationsError extends CodedError {
  static override readonly className: string = 'TooManyOperationsError';
  readonly code = 'ERR_TOO_MANY_OPERATIONS';

  constructor(readonly limit: number) {
    super(`${limit} bulk operations run, and no more may run`, undefined, 'ERR_TOO_MANY_OPERATIONS');
  }
}

/**
 * The id belongs to a bulk operation of another request. Nothing was started.
 *
 * @remedy Choose another `id`, or start the same request.
 */
export class OperationConflictError extends CodedError {
  static override readonly className: string = 'OperationConflictError';
  readonly code = 'ERR_OPERATION_CONFLICT';

  constructor(readonly operationId: string) {
    super(
      `there is a bulk operation ${JSON.stringify(operationId)} of another request`,
      undefined,
      'ERR_OPERATION_CONFLICT',
    );
  }
}
