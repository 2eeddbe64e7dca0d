import { printFailure } from './base/process/command-line.ts'
import { runProgram } from './program.ts'

// The executable of the package `adit-agent`: `cli.ts` without the server.
await runProgram({
  async run() {
    const message =
      'this is the agent alone, without the server; to install both, run: npm install --global adit-server'
    printFailure(message, (text) => process.stderr.write(text))
    return 1
  },
  completion: async () => [],
})
