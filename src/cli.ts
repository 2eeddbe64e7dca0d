import { runProgram } from './program.ts'

// The one executable: agent and server. The server is loaded on demand, so that the agent stays light.
await runProgram({
  server: async (args) => (await import('./server/commands/cli.ts')).runServer(args),
  serverCompletion: async () => (await import('./server/commands/completion.ts')).serverCompletion(),
})
