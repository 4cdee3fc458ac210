/** The answers of routes: their statuses, and what the OpenAPI document says of them. */
import { applyDecorators, HttpCode, HttpStatus } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import type { z } from 'zod';

import type { ResponseHeader } from './response-headers.js';
import { headerRefs } from './response-headers.js';

/** The route answers 200. */
export function Answers(
  standardSchema: z.ZodType,
  description: string,
  ...names: ResponseHeader[]
): MethodDecorator {
  const headers = headerRefs(names);
  return applyDecorators(
    HttpCode(HttpStatus.OK),
    ApiResponse({ status: HttpStatus.OK, standardSchema, description, headers }),
  );
}

/** The route answers 204. */
export function AnswersNothing(description: string, ...names: ResponseHeader[]): MethodDecorator {
  return applyDecorators(
    HttpCode(HttpStatus.NO_CONTENT),
    ApiResponse({ status: HttpStatus.NO_CONTENT, description, headers: headerRefs(names) }),
  );
}

/** The route sets its status: 201, or 200 when it finds what it would create. */
export function Creates(
  standardSchema: z.ZodType,
  created: string,
  found: string,
  ...names: ResponseHeader[]
): MethodDecorator {
  const headers = headerRefs(names);
  return applyDecorators(
    ApiResponse({ status: HttpStatus.OK, standardSchema, description: found, headers }),
    ApiResponse({ status: HttpStatus.CREATED, standardSchema, description: created, headers }),
  );
}
