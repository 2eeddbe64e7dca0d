// A reporter for mocha that writes a report in the form of JUnit to the file that JUNIT_REPORT names. A test that a failed hook
// kept from running has failed: mocha counts the hook alone.
const { writeFileSync } = require('node:fs')
const { basename } = require('node:path')

module.exports = class {
  constructor(runner) {
    const tests = []
    const failures = new Map()
    runner.suite.eachTest((test) => tests.push(test))
    runner.on('fail', (test, error) => failures.set(test, error))
    runner.on('end', () => {
      const cases = tests.map((test) => {
        const name = [basename(test.file, '.js'), ...test.titlePath().slice(-2)].join(': ')
        const reason = failures.get(test)?.message ?? 'a hook failed before it'
        return test.state === 'passed' || test.isPending()
          ? element('testcase', name, test.isPending() ? '<skipped/>' : '')
          : element('testcase', name, element('failure', reason, ''))
      })
      writeFileSync(process.env.JUNIT_REPORT, element('testsuite', 'mocha', cases.join('\n')))
    })
  }
}

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function element(tag, name, content) {
  return `<${tag} name="${name.replace(/[&<>"]/g, (character) => ESCAPES[character])}">${content}</${tag}>`
}
