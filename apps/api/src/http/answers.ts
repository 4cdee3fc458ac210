/** The answers of routes: their statuses, and what the OpenAPI document says of them. */
import { applyDecorators, HttpCode, HttpStatus } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import type { z } from 'zod';

/** The route answers 200. */
export function Answers(standardSchema: z.ZodType, description: string): MethodDecorator {
  return applyDecorators(
    HttpCode(HttpStatus.OK),
    ApiResponse({ status: HttpStatus.OK, standardSchema, description }),
  );
}

/** The route answers 204. */
export function AnswersNothing(description: string): MethodDecorator {
  return applyDecorators(
    HttpCode(HttpStatus.NO_CONTENT),
    ApiResponse({ status: HttpStatus.NO_CONTENT, description }),
  );
}

/** The route sets its status: 201, or 200 when it finds what it would create. */
export function Creates(standardSchema: z.ZodType, created: string, found: string): MethodDecorator {
  return applyDecorators(
    ApiResponse({ status: HttpStatus.OK, standardSchema, description: found }),
    ApiResponse({ status: HttpStatus.CREATED, standardSchema, description: created }),
  );
}
