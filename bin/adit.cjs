#!/usr/bin/env node
// Starts the built program. Plain JavaScript without imports at the top: old versions of Node get this far, and a sentence.
'use strict'

const { engines, version } = require('../package.json')

const [minMajor, minMinor] = engines.node.replace('>=', '').split('.').map(Number)
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < minMajor || (major === minMajor && minor < minMinor)) {
  process.stderr.write(
    `ERROR:  Adit needs Node ${minMajor}.${minMinor} or newer, and this is Node ${process.versions.node}. Install a newer one: https://nodejs.org/\n`,
  )
  process.exitCode = 1
} else {
  start()
}

function start() {
  const { existsSync } = require('node:fs')
  const { join } = require('node:path')
  const { pathToFileURL } = require('node:url')
  const program = join(findVersion(), 'dist', 'lib', 'cli.js')
  if (!existsSync(program)) {
    process.stderr.write(
      'ERROR:  This copy of Adit was not built. In its repository, run: npm run build && npm pack\n',
    )
    process.exitCode = 1
    return
  }
  hideSqliteWarning()
  void import(pathToFileURL(program).href)
}

/** An update is used as long as the installation it was made for is still the same (docs/agent.md, Updates). */
function findVersion() {
  const { readFileSync, realpathSync } = require('node:fs')
  const { join } = require('node:path')
  const root = join(__dirname, '..')
  try {
    const base = readFileSync(join(root, 'versions', 'base'), 'utf8').trim()
    if (base === version) return realpathSync(join(root, 'versions', 'current'))
  } catch {
    // There is no update.
  }
  return root
}

/** Node 22 calls its SQLite experimental; what the server uses of it is the same in all later versions. */
function hideSqliteWarning() {
  const { emitWarning } = process
  process.emitWarning = (warning, ...details) => {
    if (!String(warning).startsWith('SQLite is an experimental feature'))
      emitWarning.call(process, warning, ...details)
  }
}
