import { Controller, Delete, Get, Headers, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

import type { Config } from '../config.js';
import { isForProduction } from '../config.js';
import { Answers, AnswersNothing } from '../http/answers.js';
import { Problems } from '../http/problems.decorator.js';
import { CONFIG } from '../tokens.js';
import type { Principal } from './principal.js';
import { sessionSchema } from './schemas.js';
import { SessionVerifier } from './session-verifier.js';

@ApiTags('session')
@Controller('v1/session')
export class SessionController {
  readonly #attributes: string;

  constructor(
    private readonly sessions: SessionVerifier,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.#attributes = `; Path=/; HttpOnly; SameSite=Strict${isForProduction(config) ? '; Secure' : ''}`;
  }

  @Post()
  @ApiOperation({
    summary: 'Open a session of a browser',
    description:
      'Sets the cookie `mortise_session`, which stands for the credential of this request. The session ends ' +
      'with the credential, or after `SESSION_TTL_MS`. The cookie counts only for requests from pages of this ' +
      'server. A repeated request opens one more session. A request with a session opens none.',
  })
  @Answers(sessionSchema, 'The rights of the session.', 'Set-Cookie')
  @Problems('foreign-origin')
  async openSession(
    @Req() { principal }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof sessionSchema>> {
    reply.header('cache-control', 'no-store');
    const { proof, isSession } = principal!;
    // Without authentication there is nothing to stand for. A session that opened others would outlive its time and its sign-out.
    if (proof && !isSession) {
      const token = await this.sessions.open(proof);
      const maxAge = Math.floor(this.config.SESSION_TTL_MS / 1_000);
      reply.header('set-cookie', `mortise_session=${token}; Max-Age=${maxAge}${this.#attributes}`);
    }
    return this.#shown(principal!);
  }

  @Get()
  @ApiOperation({ summary: 'Look at the rights of the credential' })
  @Answers(sessionSchema, 'The rights of the credential.')
  @Problems('foreign-origin')
  session(
    @Req() { principal }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): z.infer<typeof sessionSchema> {
    reply.header('cache-control', 'no-store');
    return this.#shown(principal!);
  }

  @Delete()
  @ApiOperation({
    summary: 'End the session of a browser',
    description:
      'Ends the session of the cookie. Every process refuses it at once. A repeated request gets 401.',
  })
  @AnswersNothing('The session has ended.', 'Set-Cookie')
  @Problems('foreign-origin')
  async endSession(
    @Headers('cookie') cookie: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const token = SessionVerifier.tokenOf(cookie);
    if (token !== undefined) await this.sessions.end(token);
    reply.header('set-cookie', `mortise_session=; Max-Age=0${this.#attributes}`);
  }

  #shown({ keyId, tenant, subject, scopes }: Principal): z.infer<typeof sessionSchema> {
    const { CONSOLE: console } = this.config;
    return { keyId: keyId ?? null, tenant, subject: subject ?? null, scopes: [...scopes], console };
  }
}
