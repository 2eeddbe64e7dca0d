import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { findFreePorts } from '../support/free-ports.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { installPython } from './installs.ts'
import { assertSameUse } from './same-use.ts'

test('Jupyter: a notebook is stored, and a kernel runs it over its WebSocket', {
  skip: missingPrograms('python3'),
}, async (t) => {
  const programs = await installPython(
    t,
    ...['jupyter-server==2.21.1', 'ipykernel==7.4.0', 'jupyter-kernel-client==1.0.2'],
  )
  if (programs === undefined) return
  const seen = await assertSameUse(
    t,
    async () => {
      const port = await findFreePorts(1)
      const home = createTempDir()
      const settings = [
        ...[`port=${port}`, 'open_browser=False', 'allow_root=True', `root_dir=${home}`],
        // Names other than localhost are rejected otherwise.
        'allow_remote_access=True',
      ].map((setting) => `--ServerApp.${setting}`)
      await startServiceProgram(
        t,
        [join(programs.bin, 'jupyter-server'), ...settings, '--IdentityProvider.token=secret'],
        { port, env: { HOME: home, PATH: `${programs.bin}:${process.env.PATH}` } },
      )
      return port
    },
    async ({ url, rootsFile, run }) =>
      JSON.parse(await run(programs.script('jupyter.py', url), { WEBSOCKET_CLIENT_CA_BUNDLE: rootsFile })),
  )
  if (seen === undefined) return
  assert.deepEqual(seen.statuses, ['ok', 'ok', 'error', 'ok'])
})
