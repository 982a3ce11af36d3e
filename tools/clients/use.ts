// This program uses the types that internal/testing/clients generates into api.d.ts. It
// throws at the first result that it does not expect.
import createClient from 'openapi-fetch'
import type {components, paths} from './api.d.ts'

type Run = components['schemas']['RunDetail']

declare const process: {env: Record<string, string | undefined>}

function setting(name: string): string {
  const value = process.env[name]
  if (value === undefined) {
    throw new Error(`${name} is not set`)
  }
  return value
}

function expect(ok: boolean, what: string, got: unknown): asserts ok {
  if (!ok) {
    throw new Error(`${what}: ${JSON.stringify(got)}`)
  }
}

const api = createClient<paths>({
  baseUrl: `${setting('KAIROS_SERVER')}/api/v1`,
  headers: {Authorization: `Bearer ${setting('KAIROS_TOKEN')}`},
})

// ended waits for the end of a run.
async function ended(id: string): Promise<Run> {
  for (let attempt = 0; attempt < 1200; attempt++) {
    const {data, error} = await api.GET('/runs/{id}', {params: {path: {id}}})
    expect(data !== undefined, 'get a run', error)
    if (data.endedAt !== undefined) {
      return data
    }
    await new Promise(done => setTimeout(done, 50))
  }
  throw new Error(`the run ${id} does not end`)
}

const plan = await api.POST('/plans', {
  headers: {'Content-Type': 'application/yaml'},
  body: "id: fetch-ts\nnodes: {get: {type: tool, tool: http, input: {url: '${input}'}, retry: {max_attempts: 1}}}\n" as never,
  bodySerializer: (text: unknown) => String(text),
})
expect(plan.response.status === 201 && plan.data?.key === 'fetch-ts', 'store a plan', plan.error ?? plan.data)

const ids: string[] = []
for (let i = 0; i < 2; i++) {
  const started = await api.POST('/runs', {body: {plan: 'fetch-ts', input: setting('KAIROS_TARGET')}})
  expect(started.data !== undefined, 'start a run', started.error)
  const run = await ended(started.data.id)
  expect(run.status === 'failed' && run.error !== null, 'the run', run)
  ids.push(run.id)
}

const found: string[] = []
for (let cursor: string | null = ''; cursor !== null;) {
  const query: {limit: number; filter: string; cursor?: string} = {limit: 1, filter: 'plan:fetch-ts status:failed'}
  if (cursor !== '') {
    query.cursor = cursor
  }
  const list: {data?: components['schemas']['RunList']; error?: unknown} = await api.GET('/runs', {params: {query}})
  expect(list.data !== undefined && list.data.items.length <= 1, 'list runs', list.error)
  found.unshift(...list.data.items.map(run => run.id)) // newest first
  cursor = list.data.nextCursor
}
expect(found.join() === ids.join(), 'the pages', found)

const [first] = ids
expect(first !== undefined, 'the first run', ids)
const resumed = await api.POST('/runs/{id}/resume', {params: {path: {id: first}}, body: {reason: 'the target works'}})
expect(resumed.data !== undefined && 'id' in resumed.data && resumed.data.id === first, 'resume a run', resumed.error)
const completed = await ended(first)
expect(completed.status === 'completed', 'the resumed run', completed)

const missing = await api.GET('/runs/{id}', {params: {path: {id: 'none-such'}}})
expect(missing.data === undefined && missing.response.status === 404, 'a run that does not exist', missing.data)
expect(missing.error?.code === 'not_found' && missing.error.message !== '', 'its problem', missing.error)
