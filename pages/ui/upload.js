// Sends files one after the other, says how far it is, and tells the page when all are handed over.

const send = (file, data, onProgress) => new Promise(resolve => {
  const asked = new URLSearchParams({ name: file.name, collection: data.collection, conflict: data.conflict, batch: data.batch })
  const request = new XMLHttpRequest()
  request.open("PUT", `/upload?${asked}`)
  request.setRequestHeader("X-Footnote", "upload")
  request.upload.onprogress = event => onProgress(event.lengthComputable ? event.loaded / event.total : 0)
  request.onerror = () => resolve(data.labels.lost.replace("{name}", file.name))
  request.onload = () => {
    let answer = {}
    try { answer = JSON.parse(request.responseText) } catch { /* not from us: told below */ }
    resolve(request.status === 200 ? "" : answer.error || data.labels.lost.replace("{name}", file.name))
  }
  request.send(file)
})

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".upload")
  root.current = { data, setTriggerValue }
  root.querySelector(".ask").textContent = data.labels.ask
  root.querySelector(".formats").textContent = data.labels.formats
  if (root.ready) return
  root.ready = true
  const input = root.querySelector("input")
  const status = root.querySelector(".sending")
  const queue = []
  let sending = false

  const work = async () => {
    if (sending) return
    sending = true
    const refused = []
    while (queue.length) {
      const file = queue.shift()
      const now = root.current.data
      if (file.size > now.limit) {
        refused.push(now.labels.large.replace("{name}", file.name))
        continue
      }
      const say = share => {
        status.textContent = now.labels.sending.replace("{name}", file.name).replace("{share}", Math.round(100 * share))
          + (queue.length ? ` · ${now.labels.more.replace("{count}", queue.length)}` : "")
      }
      say(0)
      const error = await send(file, now, say)
      if (error) refused.push(error)
    }
    status.textContent = ""
    sending = false
    root.current.setTriggerValue("added", { refused })
  }
  const take = files => {
    queue.push(...files)
    if (queue.length) work()
  }

  input.onchange = () => { take([...input.files]); input.value = "" }
  const area = root.querySelector("label")
  area.ondragover = event => { event.preventDefault(); area.classList.add("over") }
  area.ondragleave = () => area.classList.remove("over")
  area.ondrop = event => {
    event.preventDefault()
    area.classList.remove("over")
    take([...event.dataTransfer.files])
  }
}
