import type { TestContext } from 'node:test'
import { type AgentHandle, connect } from '../../src/agent/index.ts'
import { cleanEnv, startProgram } from '../support/agent-process.ts'
import type { TestPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** Starts the agent as a library, connected to the platform. */
export async function startAgent(
  t: TestContext,
  platform: TestPlatform,
  metadata = '',
): Promise<AgentHandle> {
  const env = cleanEnv(createTempDir(), { ADIT_DATA_DIR: platform.dataDir })
  const agent = await connect({ env, metadata })
  t.after(() => agent.close())
  return agent
}

/** Starts the agent as a program, which accepts restart and stop commands. */
export async function startAgentProgram(t: TestContext, platform: TestPlatform, port: number) {
  const env = cleanEnv(createTempDir(), { ADIT_DATA_DIR: platform.dataDir })
  const program = startProgram(t, ['http', String(port), '--web-addr=127.0.0.1:0'], { env })
  await program.until(({ stdout }) => /Forwarding +https:/.test(stdout))
  return program
}
