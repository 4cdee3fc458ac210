import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { FastifyRequest } from 'fastify';

import { Problem } from '../problems/problem.js';

/** Refuses a query at a route that takes none: a misspelt or misplaced key would be without effect. The schemas of the others do. */
@Injectable()
export class QueryKeys implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const keys = Object.keys(context.switchToHttp().getRequest<FastifyRequest>().query as object);
    if (keys.length === 0 || takesQuery(context)) return true;
    const [key = ''] = keys;
    throw new Problem('invalid-query', undefined, {
      errors: [{ pointer: `/${key.slice(0, 200)}`, message: 'the route takes no query' }],
    });
  }
}

/** Whether the method has a parameter with `@Query`: its metadata has keys of the form `<type>:<index>`. */
function takesQuery(context: ExecutionContext): boolean {
  const parameters: object =
    Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), context.getHandler().name) ?? {};
  return Object.keys(parameters).some((parameter) => parameter.startsWith(`${RouteParamtypes.QUERY}:`));
}
