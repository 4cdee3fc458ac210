import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import { Catch } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { problemOf } from '../problems/problem-of.js';
import { Problem } from '../problems/problem.js';
import { RouteMethods } from './route-methods.js';
import { sendProblem } from './send-problem.js';

/** Turns each error into a problem document. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly methods: RouteMethods) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (reply.sent) return;
    const problem = problemOf(error);
    const allowed = problem.slug === 'unknown-route' ? this.methods.of(request.url) : [];
    if (allowed.length === 0 || allowed.includes(request.method)) return sendProblem(request, reply, problem);
    reply.header('allow', allowed.join(', '));
    sendProblem(request, reply, new Problem('method-not-allowed', undefined, { allowed }));
  }
}
