/** The one executable: the server and the API client are loaded only when they are asked for, so that the agent stays light. */
const [command, ...rest] = process.argv.slice(2)

async function run(): Promise<number> {
  if (command === 'server') return (await import('./server/cli.ts')).runServer(rest)
  process.stderr.write('ERROR:  There is no such command.\n')
  return 1
}

process.exitCode = await run()
