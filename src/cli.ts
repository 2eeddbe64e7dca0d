import { runProgram } from './program.ts'

// The one executable: agent and server. The server is loaded on demand, so that the agent stays light.
await runProgram({
  run: async (args) => (await import('./server/commands/cli.ts')).runServer(args),
  completion: async () => (await import('./server/commands/completion.ts')).serverCompletion(),
})
