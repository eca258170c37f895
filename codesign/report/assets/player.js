// Plays the motion: a small software renderer with a depth buffer, so that it needs no graphics
// driver, works from a file, and shows which part is in front exactly.
(function () {
  "use strict";
  const root = document.getElementById("player");
  const scene = JSON.parse(document.getElementById("motion").textContent);
  const canvas = root.querySelector("canvas");
  const context = canvas.getContext("2d");
  const image = document.createElement("canvas"), imageContext = image.getContext("2d");
  const part = (name) => root.querySelector("[data-part=" + name + "]");
  const last = scene.times.length - 1, start = scene.times[0], end = scene.times[last];
  const camera = { azimuth: scene.azimuth, elevation: 0.32, near: 1, far: 1, zoom: 1, pan: [0, 0] };
  const light = unit([0.35, -0.45, 0.82]);
  let time = start, playing = false, before = 0, colours = {}, buffer, depth, bytes, dirty = null;

  // --- small vectors -------------------------------------------------------------------------
  function dot(a, b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
  function cross(a, b) {
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  }
  function unit(a) { const n = Math.hypot(...a) || 1; return a.map((x) => x / n); }
  function matrix(q) {  // rotation of a unit quaternion, scalar first, row by row
    const [w, x, y, z] = q;
    return [
      1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
      2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
      2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)];
  }
  function turn(m, v) {
    return [m[0] * v[0] + m[1] * v[1] + m[2] * v[2], m[3] * v[0] + m[4] * v[1] + m[5] * v[2],
      m[6] * v[0] + m[7] * v[1] + m[8] * v[2]];
  }
  function times(a, b) {  // 3 by 3 product
    const c = new Array(9);
    for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++)
      c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
    return c;
  }

  // --- the robot at a time -------------------------------------------------------------------
  function frameAt(t) {  // neighbouring frames and how far between them
    const s = last > 0 ? (t - start) / (end - start) * last : 0;
    const i = Math.max(0, Math.min(last - 1, Math.floor(s)));
    return last > 0 ? [i, i + 1, Math.min(1, s - i)] : [0, 0, 0];
  }
  function bodyPose(body, [i, j, s]) {
    const n = scene.bodies, p = scene.position, r = scene.quaternion;
    const a = 3 * (i * n + body), b = 3 * (j * n + body), c = 4 * (i * n + body), d = 4 * (j * n + body);
    let same = 0;
    for (let k = 0; k < 4; k++) same += r[c + k] * r[d + k];
    const sign = same < 0 ? -1 : 1;  // q and −q are one rotation
    const at = [0, 1, 2].map((k) => p[a + k] * (1 - s) + p[b + k] * s);
    const q = [0, 1, 2, 3].map((k) => r[c + k] * (1 - s) + sign * r[d + k] * s);
    const norm = Math.hypot(...q) || 1;
    return { at: at, turn: matrix(q.map((x) => x / norm)) };
  }
  function poses(t) {
    const frame = frameAt(t), all = [];
    for (let b = 0; b < scene.bodies; b++) all.push(bodyPose(b, frame));
    return all;
  }
  function place(pose, point) { const v = turn(pose.turn, point); return v.map((x, k) => x + pose.at[k]); }

  // --- camera --------------------------------------------------------------------------------
  function viewOf(width, height, pose) {
    const cb = Math.cos(camera.elevation), sb = Math.sin(camera.elevation);
    const ca = Math.cos(camera.azimuth), sa = Math.sin(camera.azimuth);
    const back = [cb * ca, cb * sa, sb], right = [-sa, ca, 0], up = cross(back, right);
    const follow = part("follow").checked && scene.base > 0;
    const middle = follow ? pose[scene.base].at : scene.low.map((x, k) => (x + scene.high[k]) / 2);
    const target = middle.map((x, k) => x + camera.pan[0] * right[k] + camera.pan[1] * up[k]);
    const focal = 1.9 * height, distance = (follow ? camera.near : camera.far) / camera.zoom;
    const eye = target.map((x, k) => x + distance * back[k]);
    return { back, right, up, focal, eye, width, height };
  }
  function project(view, p, out) {  // pixel x, pixel y, 1/depth
    const d = [p[0] - view.eye[0], p[1] - view.eye[1], p[2] - view.eye[2]];
    const inverse = 1 / Math.max(1e-6, -dot(d, view.back));
    out = out || [0, 0, 0];
    out[0] = view.width / 2 + view.focal * dot(d, view.right) * inverse;
    out[1] = view.height / 2 - view.focal * dot(d, view.up) * inverse;
    out[2] = inverse;
    return out;
  }

  function fit() {  // the distances that hold the robot, and the whole motion
    const box = canvas.getBoundingClientRect(), aspect = box.width / Math.max(1, box.height);
    const half = scene.low.map((x, k) => (scene.high[k] - x) / 2), r = scene.size / 2;
    camera.far = distanceFor(half, aspect);
    camera.near = distanceFor([r, r, r], aspect);
  }
  function distanceFor(half, aspect) {  // until all corners of a box are inside the picture
    const cb = Math.cos(camera.elevation), sb = Math.sin(camera.elevation);
    const ca = Math.cos(camera.azimuth), sa = Math.sin(camera.azimuth);
    const back = [cb * ca, cb * sa, sb], right = [-sa, ca, 0], up = cross(back, right);
    const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => half.map((x, k) => i >> k & 1 ? x : -x));
    const isInside = (d) => corners.every((c) => {
      const depth = d - dot(c, back), room = 0.92 * depth / (2 * 1.9);
      return depth > 0 && Math.abs(dot(c, up)) < room && Math.abs(dot(c, right)) < room * aspect;
    });
    let distance = Math.max(0.5 * Math.hypot(...half), 1e-6);
    for (let i = 0; i < 400 && !isInside(distance); i++) distance *= 1.03;
    return distance;
  }

  // --- drawing -------------------------------------------------------------------------------
  function drawGround(view, pose) {
    const step = scene.grid, reach = 12;
    const at = scene.base > 0 ? pose[scene.base].at : scene.low;
    const cx = Math.round(at[0] / step) * step, cy = Math.round(at[1] / step) * step;
    context.lineWidth = 1;
    context.strokeStyle = colours.grid;
    for (let i = -reach; i <= reach; i++) {
      context.globalAlpha = 0.9 * (1 - Math.abs(i) / (reach + 1));
      line(view, [cx + i * step, cy - reach * step, scene.ground], [cx + i * step, cy + reach * step, scene.ground]);
      line(view, [cx - reach * step, cy + i * step, scene.ground], [cx + reach * step, cy + i * step, scene.ground]);
    }
    context.globalAlpha = 1;
  }
  function line(view, a, b) {
    const near = 0.05 * scene.size;  // cut at a plane before the eye
    const za = dot(a.map((x, k) => view.eye[k] - x), view.back), zb = dot(b.map((x, k) => view.eye[k] - x), view.back);
    if (za < near && zb < near) return;
    const cut = (p, q, zp, zq) => zp >= near ? p : p.map((x, k) => x + (q[k] - x) * (near - zp) / (zq - zp));
    const p = project(view, cut(a, b, za, zb)), q = project(view, cut(b, a, zb, za));
    context.beginPath();
    context.moveTo(p[0], p[1]);
    context.lineTo(q[0], q[1]);
    context.stroke();
  }
  function drawShadow(view, worlds) {
    context.fillStyle = colours.shadow;
    context.beginPath();
    for (const world of worlds) {
      if (world.ground) continue;
      const faces = world.mesh.f;
      for (let i = 0; i < faces.length; i += 3) {
        const p = [0, 1, 2].map((k) => world.points[faces[i + k]]);
        const area = (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[1][1] - p[0][1]) * (p[2][0] - p[0][0]);
        if (area <= 0) continue;  // the upper side alone covers the shadow once
        const c = p.map((v) => project(view, [v[0], v[1], scene.ground]));
        context.moveTo(c[0][0], c[0][1]);
        context.lineTo(c[1][0], c[1][1]);
        context.lineTo(c[2][0], c[2][1]);
        context.closePath();
      }
    }
    context.fill();
  }
  function worldOf(shape, pose) {
    const body = pose[shape.b], mesh = scene.meshes[shape.m];
    const rotation = times(body.turn, matrix(shape.q)), at = place(body, shape.p);
    const points = [], shades = [];
    for (let i = 0; i < mesh.v.length; i += 3) {
      const p = turn(rotation, [mesh.v[i], mesh.v[i + 1], mesh.v[i + 2]]);
      points.push([p[0] + at[0], p[1] + at[1], p[2] + at[2]]);
      const n = turn(rotation, [mesh.n[i], mesh.n[i + 1], mesh.n[i + 2]]);
      shades.push(0.58 + 0.14 * n[2] + 0.38 * Math.max(0, dot(n, light)));
    }
    return { mesh, points, shades, colour: shape.c, ground: shape.ground };
  }
  function fillTriangle(a, b, c, sa, sb, sc, colour) {
    const area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    if (area >= 0) return;  // turned away (the picture's y points down)
    const w = image.width, h = image.height;
    const x0 = Math.max(0, Math.floor(Math.min(a[0], b[0], c[0]))), x1 = Math.min(w - 1, Math.ceil(Math.max(a[0], b[0], c[0])));
    const y0 = Math.max(0, Math.floor(Math.min(a[1], b[1], c[1]))), y1 = Math.min(h - 1, Math.ceil(Math.max(a[1], b[1], c[1])));
    if (x0 > x1 || y0 > y1) return;
    dirty = dirty ? [Math.min(dirty[0], x0), Math.min(dirty[1], y0), Math.max(dirty[2], x1), Math.max(dirty[3], y1)] : [x0, y0, x1, y1];
    for (let y = y0; y <= y1; y++) {
      for (let x = x0; x <= x1; x++) {
        const px = x + 0.5, py = y + 0.5;
        const u = ((b[0] - px) * (c[1] - py) - (b[1] - py) * (c[0] - px)) / area;
        const v = ((c[0] - px) * (a[1] - py) - (c[1] - py) * (a[0] - px)) / area;
        const t = 1 - u - v;
        if (u < 0 || v < 0 || t < 0) continue;
        const z = u * a[2] + v * b[2] + t * c[2], k = y * w + x;
        if (z <= depth[k]) continue;
        depth[k] = z;
        const s = 255 * (u * sa + v * sb + t * sc);
        buffer[k] = 0xff000000 | Math.min(255, s * colour[2]) << 16 | Math.min(255, s * colour[1]) << 8 | Math.min(255, s * colour[0]);
      }
    }
  }
  function drawRobot(view, worlds, scale) {
    const w = Math.round(view.width * scale), h = Math.round(view.height * scale);
    if (image.width !== w || image.height !== h || !buffer) {
      image.width = w;
      image.height = h;
      bytes = new ImageData(w, h);
      buffer = new Uint32Array(bytes.data.buffer);
      depth = new Float32Array(w * h);
      dirty = null;
    }
    const old = dirty;
    if (old) for (let y = old[1]; y <= old[3]; y++) {
      buffer.fill(0, y * w + old[0], y * w + old[2] + 1);
      depth.fill(0, y * w + old[0], y * w + old[2] + 1);
    }
    dirty = null;
    for (const world of worlds) {
      const seen = world.points.map((p) => { const c = project(view, p); return [c[0] * scale, c[1] * scale, c[2]]; });
      const f = world.mesh.f, s = world.shades;
      for (let i = 0; i < f.length; i += 3)
        fillTriangle(seen[f[i]], seen[f[i + 1]], seen[f[i + 2]], s[f[i]], s[f[i + 1]], s[f[i + 2]], world.colour);
    }
    const all = [old, dirty].filter(Boolean);
    if (!all.length) return;
    const x0 = Math.min(...all.map((r) => r[0])), y0 = Math.min(...all.map((r) => r[1]));
    const x1 = Math.max(...all.map((r) => r[2])), y1 = Math.max(...all.map((r) => r[3]));
    imageContext.putImageData(bytes, 0, 0, x0, y0, x1 - x0 + 1, y1 - y0 + 1);
    context.drawImage(image, 0, 0, view.width, view.height);
  }
  function drawForces(view, pose) {
    if (!part("forces").checked) return;
    let k = scene.edges.findIndex((edge) => edge > time) - 1;
    if (k < 0) k = scene.edges.length - 2;
    for (const force of scene.arrows) {
      let f = force.f.slice(3 * k, 3 * k + 3);
      if (f.length < 3 || Math.hypot(...f) < force.least) continue;
      if (force.kind === "thrust") f = turn(pose[force.b].turn, f);
      context.strokeStyle = context.fillStyle = colours[force.kind];
      const from = place(pose[force.b], force.p);
      arrow(project(view, from), project(view, from.map((x, i) => x + f[i])));
    }
  }
  function arrow(a, b) {
    const dx = b[0] - a[0], dy = b[1] - a[1], n = Math.hypot(dx, dy), head = Math.min(11, 0.6 * n);
    if (n < 2) return;
    const ux = dx / n, uy = dy / n;
    context.lineWidth = 2.5;
    context.beginPath();
    context.moveTo(a[0], a[1]);
    context.lineTo(b[0] - 0.8 * head * ux, b[1] - 0.8 * head * uy);
    context.stroke();
    context.beginPath();
    context.moveTo(b[0], b[1]);
    context.lineTo(b[0] - head * ux - 0.45 * head * uy, b[1] - head * uy + 0.45 * head * ux);
    context.lineTo(b[0] - head * ux + 0.45 * head * uy, b[1] - head * uy - 0.45 * head * ux);
    context.fill();
  }
  function drawPath(view) {
    if (scene.base < 1) return;
    context.strokeStyle = colours.path;
    context.lineWidth = 1.5;
    context.setLineDash([4, 4]);
    context.beginPath();
    for (let i = 0; i <= last; i++) {
      const k = 3 * (i * scene.bodies + scene.base);
      const p = project(view, scene.position.slice(k, k + 3));
      if (i) context.lineTo(p[0], p[1]); else context.moveTo(p[0], p[1]);
    }
    context.stroke();
    context.setLineDash([]);
  }
  function drawMarkers(view) {
    context.strokeStyle = context.fillStyle = colours.mark;
    context.lineWidth = 2;
    context.font = "12px system-ui, sans-serif";
    for (const mark of scene.markers) {
      const p = project(view, mark.p);
      context.beginPath();
      context.arc(p[0], p[1], 5, 0, 2 * Math.PI);
      context.stroke();
      if (scene.markers.length <= 4) context.fillText(mark.name, p[0] + 9, p[1] + 4);
    }
  }
  function draw() {
    const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    const width = Math.max(1, Math.round(box.width)), height = Math.max(1, Math.round(box.height));
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const pose = poses(time), view = viewOf(width, height, pose);
    const worlds = scene.shapes.map((shape) => worldOf(shape, pose));
    drawGround(view, pose);
    drawShadow(view, worlds);
    drawPath(view);
    drawRobot(view, worlds, ratio >= 1.75 ? ratio : 2 * ratio);
    drawForces(view, pose);
    drawMarkers(view);
    part("clock").textContent = time.toFixed(2) + " s";
    part("time").value = String(end > start ? 1000 * (time - start) / (end - start) : 0);
  }

  // --- controls ------------------------------------------------------------------------------
  function readColours() {
    const style = getComputedStyle(root);
    for (const name of ["grid", "shadow", "contact", "thrust", "path", "mark"])
      colours[name] = style.getPropertyValue("--" + name).trim();
    draw();
  }
  function tick(now) {
    if (!playing) return;
    time += (now - before) / 1000 * Number(part("speed").value);
    before = now;
    if (time > end + 0.4) time = start;  // hold the last pose for a moment
    const shown = time;
    time = Math.min(time, end);
    draw();
    time = shown;
    requestAnimationFrame(tick);
  }
  function play(on) {
    playing = on && last > 0;
    part("play").textContent = playing ? "Pause" : "Play";
    before = performance.now();
    time = Math.min(time, end);
    if (playing) {
      if (time >= end) time = start;
      requestAnimationFrame(tick);
    } else draw();
  }
  part("play").addEventListener("click", () => play(!playing));
  part("time").addEventListener("input", (event) => {
    play(false);
    time = start + Number(event.target.value) / 1000 * (end - start);
    draw();
  });
  for (const name of ["forces", "follow"]) part(name).addEventListener("change", draw);
  if (!scene.arrows.length) part("forces").parentElement.hidden = true;
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.06], ArrowDown: [0, -0.06] };
    if (event.key === " ") play(!playing);
    else if (steps[event.key]) orbit(...steps[event.key]);
    else return;
    event.preventDefault();
  });
  function orbit(azimuth, elevation) {
    camera.azimuth += azimuth;
    camera.elevation = Math.max(-0.1, Math.min(1.55, camera.elevation + elevation));
    if (!playing) draw();
  }
  let grip = null;
  canvas.addEventListener("pointerdown", (event) => {
    grip = [event.clientX, event.clientY];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const dx = event.clientX - grip[0], dy = event.clientY - grip[1];
    grip = [event.clientX, event.clientY];
    if (event.shiftKey) {
      const metres = (part("follow").checked ? camera.near : camera.far) / camera.zoom / (1.9 * canvas.clientHeight);
      camera.pan = [camera.pan[0] - dx * metres, camera.pan[1] + dy * metres];
      if (!playing) draw();
    } else orbit(-0.008 * dx, 0.006 * dy);
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { grip = null; });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    camera.zoom = Math.max(0.2, Math.min(12, camera.zoom * Math.exp(-0.0012 * event.deltaY)));
    if (!playing) draw();
  }, { passive: false });
  canvas.addEventListener("dblclick", () => {
    Object.assign(camera, { azimuth: scene.azimuth, elevation: 0.32, zoom: 1, pan: [0, 0] });
    fit();
    if (!playing) draw();
  });
  window.addEventListener("resize", () => { fit(); if (!playing) draw(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
  root.hidden = false;
  part("follow").checked = scene.follow;
  fit();
  readColours();
  const wanted = new URLSearchParams(location.search).get("t");  // report.html?t=1.5 opens still
  if (wanted !== null && isFinite(Number(wanted))) {
    time = Math.max(start, Math.min(end, Number(wanted)));
    draw();
  } else play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
})();
