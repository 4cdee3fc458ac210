import { Body, Controller, HttpCode, HttpStatus, Post } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';

import { IdempotencyKey, TakesIdempotencyKey } from '../http/idempotency-key.js';
import { BODY_PROBLEMS, Problems } from '../http/problems.decorator.js';
import { PasswordResets } from './password-resets.js';
import { resetBody, resetSchema } from './schemas.js';

@ApiTags('players')
@Controller('v1/market/password-resets')
export class PasswordResetsController {
  constructor(private readonly resets: PasswordResets) {}

  @Post()
  @HttpCode(HttpStatus.ACCEPTED)
  @ApiOperation({
    summary: 'Mail a player how to choose a new password',
    description: 'The mail is sent before all others. Each player gets up to three an hour.',
  })
  @TakesIdempotencyKey('The same request again sends no second mail.')
  @ApiResponse({ status: 202, standardSchema: resetSchema, description: 'The mail is on its way.' })
  @Problems(...BODY_PROBLEMS, 'invalid-idempotency-key', 'unknown-player', 'rate-limited')
  async resetPassword(
    @Body({ schema: resetBody }) { playerId }: z.infer<typeof resetBody>,
    @IdempotencyKey() requestKey: string | undefined,
  ): Promise<z.infer<typeof resetSchema>> {
    return { taskId: await this.resets.request(playerId, requestKey) };
  }
}
