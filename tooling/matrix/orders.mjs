/** The runs of each cell of a server, in the order of its topologies. */
import * as plan from './plan.mjs';

/**
 * @param installed directories of the projects, and programs of the runtimes, by name
 * @param only texts, one of which is in the name of each wanted cell; all cells without it
 * @returns `[{ name: topology, cells: [{ cell, runs }] }]`, as `server-cells.mjs` takes them
 */
export function ordersOf(server, installed, only) {
  const topologies = plan.TOPOLOGIES.map((name) => ({ name, cells: [serverCell(server, name, installed)] }));
  if (server.name === plan.BASE_SERVER) topologies[0].cells.push(...runtimeCells(installed));
  const isWanted = ({ cell }) => only === undefined || only.some((text) => cell.includes(text));
  return topologies
    .map(({ name, cells }) => ({ name, cells: cells.filter(isWanted) }))
    .filter(({ cells }) => cells.length > 0);
}

function serverCell(server, topology, installed) {
  const programs = [...plan.PACKAGES, 'nestjs'];
  const runs = plan.SERVER_PROJECTS.map((project) => runOf(plan.BASE_RUNTIME, project, programs, installed));
  return { cell: plan.cellName(server.name, topology), runs };
}

function runtimeCells(installed) {
  return plan.RUNTIMES.flatMap((runtime) =>
    plan.CLIENTS.map(({ name, project, programs }) => ({
      cell: plan.cellName(runtime.name, name),
      runs: [runOf(runtime.name, project, programs, installed)],
    })),
  );
}

/** A run whose runtime could not be installed has a `problem` in place of a program. */
function runOf(runtime, project, programs, { projects, runtimes }) {
  const { args } = plan.RUNTIMES.find(({ name }) => name === runtime);
  const { program, problem } = runtimes.get(runtime);
  const library = plan.PROJECTS.find(({ name }) => name === project).nodeRedis ? 'node-redis' : 'ioredis';
  return {
    label: `${runtime}, ${project}`,
    problem,
    program,
    args,
    project: projects.get(project),
    programs,
    library,
  };
}
