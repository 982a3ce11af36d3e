// Lints the OpenAPI document that is named on the command line with the rules of Redocly.
import {readFileSync} from 'node:fs'
import {createConfig, lintFromString} from '@redocly/openapi-core'

const file = process.argv[2]
const config = await createConfig({
  extends: ['recommended-strict'],
  rules: {
    'info-license': 'off', // the server describes itself; the license is in the repository
    'no-ambiguous-paths': 'error',
    'no-http-verbs-in-paths': 'off',
    'no-invalid-media-type-examples': 'error',
    'no-invalid-parameter-examples': 'error',
    'no-invalid-schema-examples': 'error',
    'no-required-schema-properties-undefined': 'error',
    'no-unused-components': 'error',
    'operation-4xx-response': 'error',
    'operation-operationId': 'error',
    'operation-operationId-unique': 'error',
    'operation-operationId-url-safe': 'error',
    'operation-parameters-unique': 'error',
    'operation-singular-tag': 'error',
    'operation-tag-defined': 'error',
    'parameter-description': 'error',
    'path-declaration-must-exist': 'error',
    'path-parameters-defined': 'error',
    'paths-kebab-case': 'error',
    'tag-description': 'error',
  },
})
const problems = await lintFromString({source: readFileSync(file, 'utf8'), absoluteRef: file, config})
for (const p of problems) {
  console.log(`${p.ruleId}: ${p.message} ${p.location.map(l => l.pointer).join(' ')}`)
}
process.exitCode = problems.length > 0 ? 1 : 0
